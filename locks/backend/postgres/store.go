package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
)

// A store keeps each cell in a row. It implements [caslease.Store].
type store struct {
	pool *pool
	hub  hub
}

// errChanged says that no row has that version.
var errChanged = errors.New("the row has changed")

func newStore(s *settings, timeout time.Duration, log *slog.Logger) *store {
	st := &store{}
	ctx, end := context.WithCancel(context.Background())
	st.pool = &pool{settings: s, timeout: timeout, log: log, notified: st.hub.notify, ctx: ctx, end: end}
	return st
}

// Close implements [caslease.Store].
func (s *store) Close() error {
	s.pool.close()
	return nil
}

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, key caslease.Key) (caslease.Cell, error) {
	row, err := s.one(ctx, readSQL, key)
	if state(err) == undefinedTable {
		return caslease.Cell{}, nil
	}
	if err != nil {
		return caslease.Cell{}, err
	}
	return cell(row)
}

// Swap implements [caslease.Store]. The first one creates the table.
func (s *store) Swap(ctx context.Context, key caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	var newState []byte
	channel := ""
	if to.State != "" {
		newState = []byte(to.State)
	}
	if !to.Silent {
		channel = s.pool.settings.channel()
	}
	values := []any{newState, to.Record, channel}
	statement := createSQL
	if at.Version != "" {
		statement, values = updateSQL, append(values, at.Version, rows.MinAge(to))
	}
	row, err := s.one(ctx, statement, key, values...)
	if state(err) == undefinedTable && at.Version == "" {
		if err := s.createTable(ctx); err != nil {
			return caslease.Cell{}, err
		}
		row, err = s.one(ctx, statement, key, values...)
	}
	if err != nil {
		return caslease.Cell{}, changed(err)
	}
	return cell(row)
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, key caslease.Key, at caslease.Cell) error {
	_, err := s.one(ctx, deleteSQL, key, at.Version, s.pool.settings.channel())
	return changed(err)
}

// changed returns the error of a write. If the table does not exist, nor does the row.
func changed(err error) error {
	if state(err) == undefinedTable {
		return errChanged
	}
	return err
}

// List implements [caslease.Lister].
func (s *store) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	all, err := s.run(ctx, listSQL, cursor, strconv.Itoa(locks.MaxList))
	if state(err) == undefinedTable {
		return nil, "", nil
	}
	for i, row := range all {
		if all[i], err = plain(row); err != nil {
			break
		}
	}
	if err != nil {
		return nil, "", err
	}
	return rows.Page(all)
}

// createTable creates the table, unless somebody else does so at the same time.
func (s *store) createTable(ctx context.Context) error {
	_, err := s.run(ctx, s.pool.settings.tableSQL())
	switch state(err) {
	case duplicateTable, duplicateObject, uniqueViolation:
		return nil
	}
	return err
}

// one runs a statement about a cell, and returns its row.
func (s *store) one(ctx context.Context, statement string, key caslease.Key, values ...any) ([][]byte, error) {
	rows, err := s.run(ctx, statement, append([]any{key.Name, strconv.Itoa(int(key.Part))}, values...)...)
	if err == nil && len(rows) == 0 {
		err = errChanged
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// run runs a statement, in one transaction and one exchange with the server: between two
// exchanges a pooler might lend the server's connection to somebody else. For the same
// reason, no statement is prepared under a name. The values are strings, or []byte for
// binary ones.
func (s *store) run(ctx context.Context, statement string, values ...any) ([][][]byte, error) {
	c, err := s.pool.get(ctx)
	if err != nil {
		return nil, err
	}
	defer s.pool.put(c)
	c.warning = ""
	var b pgconn.Batch
	limit := s.pool.timeLeft(ctx).Milliseconds()*9/10 + 1 // so that we hear why
	b.ExecParams(prepareSQL, [][]byte{strconv.AppendInt(nil, limit, 10)}, nil, nil, nil)
	params, formats := make([][]byte, len(values)), make([]int16, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			params[i] = []byte(v)
		case []byte:
			params[i], formats[i] = v, 1
		}
	}
	b.ExecParams(s.pool.settings.sql(statement), params, nil, formats, nil)
	results, err := c.ExecBatch(ctx, &b).ReadAll()
	switch {
	case state(err) == readOnly:
		c.close() // the next connection is to the primary
		return nil, err
	case state(err) == undefinedTable: // of a standby, that says nothing
		if refused := c.check(ctx); refused != nil {
			c.close()
			err = refused
		}
		return nil, err
	case err != nil:
		return nil, err
	case len(results) != 2:
		return nil, fmt.Errorf("the server answered %d of 2 statements", len(results))
	case c.warning != "":
		return nil, &warnedError{c.warning}
	}
	for _, row := range results[1].Rows {
		if string(row[7]) == "t" { // a pooler has switched to a standby
			c.close()
			return nil, errStandby
		}
	}
	return results[1].Rows, nil
}
