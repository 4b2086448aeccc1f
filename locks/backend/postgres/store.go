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

// Rest implements [caslease.Rester].
func (s *store) Rest() { s.pool.rest() }

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, key caslease.Key) (caslease.Cell, error) {
	row, err := s.one(ctx, about(readSQL, key))
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
	if to.State != "" {
		newState = []byte(to.State)
	}
	q := about(createSQL, key, newState, to.Record)
	if at.Version != "" {
		q = about(updateSQL, key, newState, to.Record, at.Version, rows.MinAge(to))
	}
	var notice []query
	if !to.Silent {
		notice = s.notice(key, newState, to.Record)
	}
	row, err := s.one(ctx, q, notice...)
	if state(err) == undefinedTable && at.Version == "" {
		if err := s.createTable(ctx); err != nil {
			return caslease.Cell{}, err
		}
		row, err = s.one(ctx, q, notice...)
	}
	if err != nil {
		return caslease.Cell{}, changed(err)
	}
	return cell(row)
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, key caslease.Key, at caslease.Cell) error {
	_, err := s.one(ctx, about(deleteSQL, key, at.Version), s.notice(key, nil, nil)...)
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
	all, err := s.run(ctx, query{listSQL, []any{cursor, strconv.Itoa(locks.MaxList)}})
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
	_, err := s.run(ctx, query{tableSQL, nil})
	switch state(err) {
	case duplicateTable, duplicateObject, uniqueViolation:
		return nil
	}
	return err
}

// A query is a statement with its values, which are strings, or []byte for binary ones.
type query struct {
	statement string
	values    []any
}

// about returns a query about a cell.
func about(statement string, key caslease.Key, values ...any) query {
	return query{statement, append([]any{key.Name, strconv.Itoa(int(key.Part))}, values...)}
}

// notice returns the transaction that notifies listeners of a change of a cell.
func (s *store) notice(key caslease.Key, state, record []byte) []query {
	return []query{{noticeSQL, nil}, about(notifySQL, key, state, record, s.pool.settings.channel())}
}

// send sends a transaction.
func (s *store) send(p *pgconn.Pipeline, queries ...query) {
	for _, q := range queries {
		params, formats := make([][]byte, len(q.values)), make([]int16, len(q.values))
		for i, v := range q.values {
			switch v := v.(type) {
			case string:
				params[i] = []byte(v)
			case []byte:
				params[i], formats[i] = v, 1
			}
		}
		p.SendQueryParams(s.pool.settings.sql(q.statement), params, nil, formats, nil)
	}
	p.SendPipelineSync() // the end of the transaction
}

// answers returns the rows of each query of a transaction.
func answers(p *pgconn.Pipeline) (all [][][][]byte, err error) {
	for {
		next, err := p.GetResults()
		if err != nil {
			return nil, err
		}
		switch result := next.(type) {
		case *pgconn.ResultReader:
			r := result.Read()
			if r.Err != nil {
				return nil, r.Err
			}
			all = append(all, r.Rows)
		case *pgconn.PipelineSync:
			return all, nil
		default:
			return nil, fmt.Errorf("the driver returned a %T", next)
		}
	}
}

// one runs a query about a cell, and returns its row.
func (s *store) one(ctx context.Context, q query, notice ...query) ([][]byte, error) {
	rows, err := s.run(ctx, q, notice...)
	if err == nil && len(rows) == 0 {
		err = errChanged
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// run runs a query, in one transaction and one exchange with the server: between two
// exchanges a pooler might lend the server's connection to somebody else. For the same
// reason, no statement is prepared under a name. The notice is a second transaction of the
// exchange, whose errors do not matter.
func (s *store) run(ctx context.Context, q query, notice ...query) ([][][]byte, error) {
	c, err := s.pool.get(ctx)
	if err != nil {
		return nil, err
	}
	defer s.pool.put(c)
	c.warning = ""
	limit := s.pool.timeLeft(ctx).Milliseconds()*9/10 + 1 // so that we hear why
	p := c.StartPipeline(ctx)
	s.send(p, query{prepareSQL, []any{strconv.FormatInt(limit, 10)}}, q)
	if len(notice) > 0 {
		s.send(p, notice...)
	}
	err = p.Flush()
	var results [][][][]byte
	if err == nil {
		results, err = answers(p)
	}
	_ = p.Close() // reads what is left of the answer
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
	for _, row := range results[1] {
		if string(row[7]) == "t" { // a pooler has switched to a standby
			c.close()
			return nil, errStandby
		}
	}
	return results[1], nil
}
