package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
)

// A store keeps each cell in a row. It implements [caslease.Store].
type store struct {
	settings *settings
	timeout  time.Duration // for one request
	db       *sql.DB
}

// errChanged says that no row has that version.
var errChanged = errors.New("the row has changed")

func newStore(s *settings, timeout time.Duration) *store {
	db := sql.OpenDB(&connector{settings: s, hosts: s.hosts, timeout: timeout})
	db.SetMaxIdleConns(1) // each costs the server memory, and maybe a thread; more exist only while requests overlap
	return &store{settings: s, timeout: timeout, db: db}
}

// Close implements [caslease.Store].
func (s *store) Close() error { return s.db.Close() }

// Rest implements [caslease.Rester].
func (s *store) Rest() {
	s.db.SetMaxIdleConns(0)
	s.db.SetMaxIdleConns(1)
}

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, key caslease.Key) (caslease.Cell, error) {
	_, c, err := s.change(ctx, "", key, values{})
	if number(err) == noSuchTable {
		return caslease.Cell{}, nil
	}
	return c, err
}

// Swap implements [caslease.Store]. The first one creates the table.
func (s *store) Swap(ctx context.Context, key caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	v := values{"state": []byte(nil), "text": to.Record, "version": at.Version, "age": rows.MinAge(to)}
	if to.State != "" {
		v["state"] = []byte(to.State)
	}
	statement := updateSQL
	if at.Version == "" {
		statement = createSQL
	}
	changed, c, err := s.change(ctx, statement, key, v)
	if number(err) == noSuchTable && at.Version == "" {
		if err := s.createTable(ctx); err != nil {
			return caslease.Cell{}, err
		}
		changed, c, err = s.change(ctx, statement, key, v)
	}
	return c, written(changed, err)
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, key caslease.Key, at caslease.Cell) error {
	changed, _, err := s.change(ctx, deleteSQL, key, values{"version": at.Version})
	return written(changed, err)
}

// written returns the error of a write. If the table does not exist, nor does the row.
func written(changed bool, err error) error {
	if number(err) == noSuchTable || err == nil && !changed {
		return errChanged
	}
	return err
}

// changedOne is ROW_COUNT() after a write that had an effect.
const changedOne = "1"

// change runs a statement about a cell, unless it is "", and reads the cell in the same
// transaction.
func (s *store) change(ctx context.Context, statement string, key caslease.Key, v values) (changed bool, c caslease.Cell, err error) {
	v["name"], v["part"] = []byte(key.Name), int(key.Part)
	text, after := s.settings.sql(readSQL, v), ""
	if statement != "" {
		text, after = s.settings.sql(statement, v)+"; "+text, text
	}
	all, err := s.run(ctx, text, after)
	if err != nil {
		return false, c, err
	}
	row := all[0]
	c, err = rows.Cell(row)
	return string(row[len(row)-1]) == changedOne, c, err
}

// List implements [caslease.Lister].
func (s *store) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	all, err := s.run(ctx, s.settings.sql(listSQL, values{"name": []byte(cursor), "limit": locks.MaxList}), "")
	if number(err) == noSuchTable {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return rows.Page(all)
}

// createTable creates the table, unless somebody else has done so.
func (s *store) createTable(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.ExecContext(ctx, s.settings.sql(tableSQL, nil))
	return err
}

var (
	_ caslease.Lister = (*store)(nil)
	_ caslease.Rester = (*store)(nil)
)
