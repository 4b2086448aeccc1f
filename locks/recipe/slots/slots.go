// Package slots makes a lock that up to N hold at once, of locks that one holds
// at a time, for any backend that can inspect a lock and keep a record beside it.
//
// The lock "jobs" becomes the locks "jobs#1", "jobs#2" … , its slots, and
// "jobs#0", the turnstile. Whoever wants a slot queues for the turnstile, so
// waiting is fair where the backend is. Only the turnstile's holder takes slots,
// and so no slot has more than one contender. It keeps the turnstile until it
// has a slot, and then gives it up.
//
// # Which N counts
//
// Each run brings its own N, and they may differ while it is being changed. The
// rule is: nobody holds a slot beside more than N−1 others, by his own N. So the
// smallest N among the holders and the newcomer counts.
//
// To know the others' N there is a record beside the turnstile, which says for
// each slot with which N and with which token its last holder took it. It is
// written under the turnstile's lock: the server refuses it when that is somebody
// else's by then. A newcomer takes a slot first, then writes, and only then says
// that it has one. If it cannot write, it gives the slot back. So a contender
// that was frozen in between, and whose turnstile has passed on to others, never
// runs beside what they decided without it.
//
// A slot that is held with a token which is not in the record is one of which we
// do not know the N: somebody has written into the record, or a contender died
// before it could. The safe guess is an N of 1, so that newcomers wait until it
// is free.
//
// # Crashes
//
// A holder that crashes loses its slot as it would lose the backend's lock, and
// whoever waits gets that slot. A contender that crashes with the turnstile holds
// the others up until its lease ends.
//
// # Limits
//
// Who is first in line waits for what its own N allows, and those behind it wait
// for it, also if their N would allow a slot now. An operator who deletes the
// turnstile's record while slots are held makes newcomers wait for those of the
// first N; holders of slots beyond that are not seen.
//
// On the backend file, which has no leases, one that is stopped at the turnstile
// (Ctrl-Z) holds up the others until it goes on.
//
// The first in line waits for at most 8 slots at a time, and looks at the others
// every few seconds: each handle may be a helper program of its own.
package slots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// An Opener makes a handle on the lock named in the options.
type Opener func(context.Context, locks.Options) (locks.Lock, error)

// A Lock is one contender's handle on one of the slots of a lock.
type Lock struct {
	n         int
	o         locks.Options
	open      Opener
	log       *slog.Logger
	permanent bool
	lost      chan error
	news      chan locks.Waiting // of the turnstile; the last is kept
	done      chan struct{}      // closed by Close
	telling   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	cancel  context.CancelFunc // ends the Acquire under way; nil: there is none
	gate    locks.Lock         // the turnstile's handle; nil: it has served
	parts   map[locks.Lock]bool
	slot    locks.Lock // nil: none is ours
	number  int
	secrets []string
	warned  map[string]bool
}

// Open makes a Lock on a slot of the lock that o names, of n slots.
func Open(ctx context.Context, n int, open Opener, o locks.Options) (*Lock, error) {
	if n < 1 || n > locks.MaxSlot {
		return nil, &locks.UsageError{What: fmt.Sprintf("%d slots are out of range: 1 to %d", n, locks.MaxSlot)}
	}
	l := &Lock{
		n: n, o: o, open: open, log: o.Logger,
		lost: make(chan error, 1), news: make(chan locks.Waiting, 1), done: make(chan struct{}),
		parts: map[locks.Lock]bool{}, warned: map[string]bool{},
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	gate, err := l.turnstile(ctx)
	if err != nil {
		return nil, err
	}
	l.gate, l.permanent = gate, locks.IsPermanent(gate)
	return l, nil
}

// handle opens a lock of one number.
func (l *Lock) handle(ctx context.Context, number int, waiting func(locks.Waiting)) (locks.Lock, error) {
	o := l.o
	o.Name, o.Waiting = locks.SlotName(o.Name, number), waiting
	return l.open(ctx, o)
}

// Slot returns the number of the slot that is ours, from 1 on, or 0.
func (l *Lock) Slot() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number
}

// Holders tells who holds slots, by number, whether we hold one or not. Somebody
// who has just taken one may be missing.
func (l *Lock) Holders(ctx context.Context) (map[int]locks.Status, error) {
	gate, done, err := l.visit(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := locks.Require(ctx, gate, "--slots", locks.CanInspect, locks.CanRecord); err != nil {
		return nil, err
	}
	v, err := l.glance(ctx, gate)
	if err != nil {
		return nil, err
	}
	all := map[int]locks.Status{}
	for number, state := range v.held {
		all[number] = state.Status
	}
	return all, nil
}

// held returns the lock of the slot that is ours, or nil.
func (l *Lock) held() locks.Lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slot
}

// Lost implements [locks.Lock].
func (l *Lock) Lost() <-chan error { return l.lost }

// pass has the loss of a slot told by Lost.
func (l *Lock) pass(slot locks.Lock) {
	if slot.Lost() == nil {
		return
	}
	l.telling.Go(func() {
		select {
		case err := <-slot.Lost():
			l.lost <- err
		case <-l.done:
		}
	})
}

// Release gives the slot up.
func (l *Lock) Release(ctx context.Context) error {
	slot := l.held()
	if slot == nil {
		return nil
	}
	return slot.Release(ctx)
}

// Close implements [locks.Lock]. It ends a pending Acquire.
func (l *Lock) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	all := l.all()
	l.parts = map[locks.Lock]bool{}
	if l.cancel != nil {
		l.cancel()
	}
	l.mu.Unlock()
	if first {
		close(l.done)
	}
	l.telling.Wait()
	var errs []error
	for _, h := range all {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// all returns each handle that we have; mu is held.
func (l *Lock) all() []locks.Lock {
	all := maps.Clone(l.parts)
	for _, h := range []locks.Lock{l.gate, l.slot} {
		if h != nil {
			all[h] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// Permanent implements [locks.Permanent].
func (l *Lock) Permanent() bool { return l.permanent }

// SecretEnv implements [locks.SecretReader].
func (l *Lock) SecretEnv() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.secrets
}

// File implements [locks.Carried].
func (l *Lock) File() *os.File { return locks.Carrier(l.held()) }

// ReleaseMessage implements [locks.Remote].
func (l *Lock) ReleaseMessage() (input *os.File, words []byte) { return locks.ReleaseMessage(l.held()) }

// Keeps implements [locks.Remote].
func (l *Lock) Keeps(pid int) bool {
	l.mu.Lock()
	all := l.all()
	l.mu.Unlock()
	return slices.ContainsFunc(all, func(h locks.Lock) bool { return locks.Keeps(h, pid) })
}

var (
	_ locks.Lock         = (*Lock)(nil)
	_ locks.Slotted      = (*Lock)(nil)
	_ locks.Permanent    = (*Lock)(nil)
	_ locks.Carried      = (*Lock)(nil)
	_ locks.Remote       = (*Lock)(nil)
	_ locks.SecretReader = (*Lock)(nil)
)
