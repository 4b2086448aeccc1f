package caslease

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// List implements [locks.Lister] by one request for each page. The cursor is the
// store's.
func (l *Lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	lister, ok := l.store.(Lister)
	if !ok {
		return nil, "", &locks.UsageError{What: "this backend cannot list its locks"}
	}
	var entries []ListedCell
	err = l.patiently(ctx, func(ctx context.Context) (err error) {
		entries, next, err = lister.List(ctx, cursor)
		return err
	})
	if err != nil {
		return nil, "", l.fail(ctx, "list the locks beside", err)
	}
	for _, e := range entries {
		if v := newView(e.Cell); locks.CheckSlotName(e.Name) == nil && l.isLock(e.Name, v) {
			page = append(page, locks.Listed{Name: e.Name, Status: v.present(), Record: l.textIn(e.Name, v)})
		}
	}
	return page, next, nil
}

// isLock reports whether a cell is a lock. One that has our mark and makes no sense
// keeps a lock from being had, so that is told.
func (l *Lock) isLock(name string, v *view) bool {
	if v.foreign != nil && v.State != "" {
		l.log.Warn("what is no lock is left out", l.traits.Cell, l.traits.Where(Key{name, Lease}), "err", v.foreign)
	}
	return v.foreign == nil
}

// textIn is what a Recorder keeps.
func (l *Lock) textIn(name string, v *view) []byte {
	if v.badRecord() {
		l.log.Warn("a record cannot be read", l.traits.Cell, l.traits.Where(Key{name, Lease}))
		return nil
	}
	return v.Record
}

var _ locks.Lister = (*Lock)(nil)
