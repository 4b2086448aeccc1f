package caslease

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A view is what one answer of the store told about a cell.
type view struct {
	Cell
	state       state
	foreign     error         // why the record cannot be read; nil: it can
	sent, heard clock.Instant // on our boot clock: the request, and its answer
}

func newView(c Cell) *view {
	v := &view{Cell: c}
	if c.Foreign != "" {
		v.foreign = errors.New(c.Foreign)
	} else if v.exists() {
		v.state, v.foreign = parseState(c.State)
	}
	return v
}

func (v *view) exists() bool { return v.Version != "" }

// token is that of the term the view shows, or if the lock is free, of the last one.
//
// The record has it, but for the first term of a cell, of which only the answer tells
// when the cell was made. Below Floor no record, whatever it says, can make it fall.
func (v *view) token() uint64 { return max(v.state.Token, v.Floor) }

// status is what the record says.
func (v *view) status() locks.Status {
	if !v.exists() || v.foreign != nil || v.state.Is != held {
		return locks.Status{}
	}
	r := v.state
	s := locks.Status{Held: true, Holder: r.Holder, RunID: r.RunID, Host: r.Host, PID: r.PID, Since: r.Since, TTL: r.ttl(), Token: r.Token, NoResign: r.NoResign}
	if r.Start == locks.StartClean || r.Start == locks.StartTakeover {
		s.Start = r.Start // there is none in what an older leaderrun wrote
	}
	if s.Token == 0 {
		s.Token = v.First
	}
	return s
}

// present is the same, with what is left of the lease by the store's clock. A Date may
// be in whole seconds, rounded down, so that this may be up to a second too much, and
// what is said to be over is over. It is for people: see observer.
func (v *view) present() locks.Status {
	s := v.status()
	if !s.Held || v.Updated.IsZero() || v.Date.Before(v.Updated.Truncate(time.Second)) {
		return s
	}
	s.Left = v.state.ttl() - max(v.Date.Sub(v.Updated), 0)
	if s.Left == 0 {
		s.Left = -1 // 0 would say that it is not known
	}
	return s
}

func (l *Lock) key(p Part) Key { return Key{l.o.Name, p} }

// read looks at a cell. That there is none is no error.
func (l *Lock) read(ctx context.Context, p Part) (*view, error) {
	return l.timed(func() (Cell, error) { return l.store.Read(ctx, l.key(p)) })
}

// readOnce reads once, but does not wait for ever for an answer: on another
// connection it may come.
func (l *Lock) readOnce(ctx context.Context, p Part) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	return l.read(ctx, p)
}

// swap changes a cell, if it is as a view showed it. If that changes anything, the
// answer must show it: see unmovedError.
func (l *Lock) swap(ctx context.Context, p Part, at *view, to Value) (*view, error) {
	v, err := l.timed(func() (Cell, error) { return l.store.Swap(ctx, l.key(p), at.Cell, to) })
	if err == nil && !at.has(to) {
		err = l.traits.changed(v, at)
	}
	return v, err
}

// timed makes one request, and notes when.
func (l *Lock) timed(request func() (Cell, error)) (*view, error) {
	sent := l.now()
	c, err := request()
	if err != nil {
		return nil, err
	}
	v := newView(c)
	v.sent, v.heard = sent, l.now()
	return v, nil
}
