package caslease

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// List implements [locks.Lister] by one request for each page. The cursor is the store's.
func (l *Lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	lister, ok := l.store.(Lister)
	if !ok {
		return nil, "", &locks.UsageError{What: "this backend cannot list its locks"}
	}
	var cells []ListedCell
	var sent clock.Instant
	err = l.patiently(ctx, func(ctx context.Context) (err error) {
		sent = l.now()
		cells, next, err = lister.List(ctx, cursor)
		return err
	})
	received := l.now()
	if err != nil {
		return nil, "", l.fail(ctx, "list the locks beside", err)
	}
	for _, c := range cells {
		v := newView(c.Cell)
		v.sent, v.received = sent, received
		if locks.CheckSlotName(c.Name) == nil && l.isLock(c.Name, v) {
			page = append(page, locks.Listed{Name: c.Name, Status: l.present(c.Name, v), Record: l.recordIn(c.Name, v)})
		}
	}
	return page, next, nil
}

// isLock reports whether a cell is a lock. It warns of a cell that leaderrun marked but
// cannot read, because nobody can take that lock.
func (l *Lock) isLock(name string, v *view) bool {
	if v.unreadable != nil && v.State != "" {
		l.log.Warn("left out of the list: not a lock", l.traits.Cell, l.traits.Where(Key{name, Lease}), "err", v.unreadable)
	}
	return v.unreadable == nil
}

// recordIn returns the record in a view.
func (l *Lock) recordIn(name string, v *view) []byte {
	if v.badRecord() {
		l.log.Warn("cannot read a record", l.traits.Cell, l.traits.Where(Key{name, Lease}))
		return nil
	}
	return v.Record
}

var _ locks.Lister = (*Lock)(nil)
