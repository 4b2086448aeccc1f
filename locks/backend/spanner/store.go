package spanner

import (
	"context"
	"time"

	pb "cloud.google.com/go/spanner/apiv1/spannerpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A store keeps each cell in a row. It implements [caslease.Store]: each call is one
// transaction, without retries.
type store struct{ client *client }

func newStore(s *settings, timeout time.Duration) *store { return &store{newClient(s, timeout)} }

// Close implements [caslease.Store]. Requests under way end.
func (s *store) Close() error {
	s.client.end()
	return nil
}

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	rows, err := s.client.query(ctx, readSQL, []param{text(k.Name), number(int(k.Part))})
	if err != nil || len(rows) == 0 {
		return caslease.Cell{}, err
	}
	return cell(rows[0])
}

// Swap implements [caslease.Store]. A commit timestamp cannot be read before the commit, so
// the result is put together from what was there and what was written.
func (s *store) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	state, record := null(pb.TypeCode_STRING), null(pb.TypeCode_BYTES)
	if to.State != "" {
		state, at.State, at.Foreign = text(to.State), to.State, ""
	}
	if to.Record != nil {
		record, at.Record, at.BadRecord = binary(to.Record), to.Record, false
	}
	statement, values := createSQL, []param{text(k.Name), number(int(k.Part)), state, record}
	if at.Version != "" {
		statement, values = updateSQL, append(values, stamp(at.Version), stamp(version(earliest(at, to))))
	}
	done, err := s.client.change(ctx, statement, values...)
	if err != nil {
		return caslease.Cell{}, err
	}
	if at.Version == "" {
		at.First = micros(done)
	}
	at.Version, at.Floor, at.Updated, at.Date = version(done), micros(done), done, done
	return at, nil
}

// earliest returns when a cell may be written: to.MinAge after its last change.
func earliest(at caslease.Cell, to caslease.Value) time.Time {
	if to.MinAge == 0 { // the clocks of two servers differ: CURRENT_TIMESTAMP may be before the last change
		return time.Unix(0, 0)
	}
	return at.Updated.Add(to.MinAge)
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, k caslease.Key, at caslease.Cell) error {
	_, err := s.client.change(ctx, deleteSQL, text(k.Name), number(int(k.Part)), stamp(at.Version))
	return err
}

// List implements [caslease.Lister].
func (s *store) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	rows, err := s.client.query(ctx, listSQL, []param{text(cursor), number(locks.MaxList)})
	for _, row := range rows {
		c, err := cell(row)
		if err != nil {
			return nil, "", err
		}
		next = row.GetValues()[0].GetStringValue() // of at most 256 characters, so of MaxCursor bytes
		if locks.CheckSlotName(next) == nil {
			page = append(page, caslease.ListedCell{Name: next, Cell: c})
		}
	}
	if len(rows) < locks.MaxList {
		next = ""
	}
	return page, next, err
}

var _ caslease.Lister = (*store)(nil)
