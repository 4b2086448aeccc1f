package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// run runs statements in one transaction, and one more after it, in one exchange with the
// server. It returns the rows of the last one in the transaction, without readOnly. If after is
// "", the other is one SELECT.
func (s *store) run(ctx context.Context, statements, after string) (rows [][][]byte, err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	left := timeLeft(ctx, s.timeout)
	rows, err = transact(ctx, c, s.settings.transaction(statements, after, left), after == "")
	if number(err) == noSuchTable { // of a replica, that says nothing
		// The transaction is still open.
		if _, refused := transact(ctx, c, "ROLLBACK AND NO CHAIN NO RELEASE; "+s.settings.transaction("SELECT "+readOnly, "", left), true); refused != nil {
			err = refused
		}
	}
	if err != nil {
		// The end of the connection ends a transaction that is still open. The next one may
		// be to another host, which has become the primary.
		_ = c.Raw(func(any) error { return driver.ErrBadConn })
	}
	return rows, err
}

// connect returns a connection of the pool, or a new one.
func (s *store) connect(ctx context.Context) (*sql.Conn, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		err = &connectError{err}
	}
	return c, err
}

// transact sends a transaction. If its own result has arrived, the error is that of the
// commit.
//
// Unless the server is known to be alone, its word that it has committed does not count: the
// row that is read after the commit must be the one that was read before it. A node of a Galera
// cluster (MariaDB 10.11) sometimes acknowledges a commit although another node's write has
// just rolled the transaction back.
func transact(ctx context.Context, c *sql.Conn, text string, reads bool) ([][][]byte, error) {
	results, err := query(ctx, c, text)
	switch {
	case err != nil && len(results) > 0:
		return nil, &commitError{err}
	case err != nil:
		return nil, err
	case len(results) == 1 && reads:
		results = append(results, [][][]byte{nil})
	case len(results) != 2:
		return nil, &commitError{fmt.Errorf("the server answered %d of 2 queries", len(results))}
	}
	for i, row := range results[0] {
		switch {
		case mayWrite(string(row[0])):
		case string(row[len(row)-1]) == changedOne: // it was set in between
			return nil, &commitError{errReadOnly}
		default:
			return nil, errReadOnly
		}
		after, last := results[1][0], len(row)-1
		if len(after) == len(row) && string(row[last]) == changedOne && string(row[last-1]) != "1" && !same(row, after) {
			return nil, &commitError{errUndone}
		}
		results[0][i] = row[1:]
	}
	return results[0], nil
}

// errUndone says that a write may have been rolled back.
var errUndone = errors.New("after the commit the row is not as it was written")

// same reports whether two rows have the same version, state and text.
func same(a, b [][]byte) bool {
	return bytes.Equal(a[1], b[1]) && bytes.Equal(a[3], b[3]) && bytes.Equal(a[5], b[5])
}

// query sends statements, and returns the rows of each that has a result. With an error it
// returns those that have arrived before.
func query(ctx context.Context, c *sql.Conn, text string) (results [][][][]byte, err error) {
	r, err := c.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for more := true; more; more = r.NextResultSet() {
		columns, err := r.Columns()
		if err != nil {
			return results, err
		}
		var rows [][][]byte
		for r.Next() {
			row, to := make([][]byte, len(columns)), make([]any, len(columns))
			for i := range row {
				to[i] = &row[i]
			}
			if err := r.Scan(to...); err != nil {
				return results, err
			}
			rows = append(rows, row)
		}
		if r.Err() != nil {
			return results, r.Err()
		}
		results = append(results, rows)
	}
	return results, r.Err()
}
