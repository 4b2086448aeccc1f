package caslease

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A view is a cell according to one answer of the store, and when that was.
type view struct {
	Cell
	state          state
	unreadable     error         // why the state of a Lease cannot be used; nil: it can
	sent, received clock.Instant // the request and its answer, by our boot clock
}

func newView(c Cell) *view {
	v := &view{Cell: c}
	if c.Foreign != "" {
		v.unreadable = errors.New(c.Foreign)
	} else if v.exists() {
		v.state, v.unreadable = parseState(c.State)
	}
	return v
}

func (v *view) exists() bool { return v.Version != "" }

// token returns the token of the term in the view, or of the last term if the lock is free.
//
// The state has the token, except for the first term of a cell: its token is known only
// from the answer to the write that created the cell. Floor keeps a state that somebody
// wrote from making the tokens fall.
func (v *view) token() uint64 { return max(v.state.Token, v.Floor) }

// status returns what the state says.
func (v *view) status() locks.Status {
	if v.Lessee != "" {
		return locks.Status{Held: true, Holder: v.Lessee, Token: v.token()}
	}
	if !v.exists() || v.unreadable != nil || v.state.Is != held {
		return locks.Status{}
	}
	s := v.state.Label.Status()
	s.TTL, s.Token = v.state.ttl(), v.state.Token
	if s.Token == 0 {
		s.Token = v.First
	}
	return s
}

// present returns the status with the time left of the lease by the store's clock. A Date
// may be rounded down to whole seconds, so this may be up to a second too much. It is for people,
// and for how long to watch: decisions are the observer's.
func (v *view) present() locks.Status {
	s := v.status()
	if !s.Held || v.Updated.IsZero() || v.Date.Before(v.Updated.Truncate(time.Second)) {
		return s
	}
	s.Left = v.state.ttl() - max(v.Date.Sub(v.Updated), 0)
	if s.Left == 0 {
		s.Left = -1 // 0 would mean unknown
	}
	return s
}

func (l *Lock) key(p Part) Key { return Key{l.Options.Name, p} }

// read reads a cell. A missing cell is not an error.
func (l *Lock) read(ctx context.Context, p Part) (*view, error) {
	return l.timed(func() (Cell, error) { return l.store.Read(ctx, l.key(p)) })
}

// readOnce reads a cell, but gives up on an answer that takes too long: a second request, on
// another connection, may be answered.
func (l *Lock) readOnce(ctx context.Context, p Part) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout/2)
	defer cancel()
	return l.read(ctx, p)
}

// swap changes a cell on the condition that it is still as in a view. If that changes
// anything, the answer must show it: see unmovedError.
func (l *Lock) swap(ctx context.Context, p Part, at *view, to Value) (*view, error) {
	v, err := l.timed(func() (Cell, error) { return l.store.Swap(ctx, l.key(p), at.Cell, to) })
	if err == nil && !at.has(to) && l.traits.moves(to) {
		err = l.traits.checkChanged(v, at)
	}
	return v, err
}

// rewrite changes the cell of our term, which is over if the store's own lease is.
func (l *Lock) rewrite(ctx context.Context, at *view, to Value) (*view, error) {
	v, err := l.swap(ctx, Lease, at, to)
	if err != nil && l.kind(err) == causes.Ended {
		err = l.lose(errEnded)
	}
	return v, err
}

// timed makes one request, and notes when it was sent and answered.
func (l *Lock) timed(request func() (Cell, error)) (*view, error) {
	sent := l.now()
	c, err := request()
	if err != nil {
		return nil, err
	}
	workers.Poke(l.watching.answers)
	v := newView(c)
	v.sent, v.received = sent, l.now()
	return v, nil
}
