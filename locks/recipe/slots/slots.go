// Package slots makes a lock that up to N runs hold at once, of locks that one holds at a
// time, for any backend that can inspect a lock and keep a record with it.
//
// The lock "jobs" becomes the locks "jobs#1", "jobs#2" …, its slots, and "jobs#0", the
// turnstile. A run that wants a slot queues for the turnstile, so waiting is fair if the
// backend is. Only the turnstile's holder takes slots, so each slot has at most one
// contender. It keeps the turnstile until it has a slot, and then releases it.
//
// # Which N counts
//
// Each run brings its own N, and these may differ while somebody changes the option. The
// rule is: a run holds a slot only while at most N−1 others do, by its own N. So the smallest
// N among the holders and the newcomer counts.
//
// A newcomer learns the others' N from the turnstile's record: it says for each slot with which N
// and which token its last holder took it. It is written under the turnstile's lock, so the
// server refuses the write if somebody else has the turnstile by then. A newcomer first takes
// a slot, then writes the record, and only then reports the slot to its caller. If it cannot
// write the record, it releases the slot. So a contender that was frozen in between, and lost
// the turnstile, never runs in addition to those that were let in without it.
//
// If the record does not have the token of a slot that is held, the N of its holder is
// unknown: somebody else has written into the record, or a contender died before it could
// write. The safe guess is an N of 1, so newcomers wait until that slot is free.
//
// # Crashes
//
// A holder that crashes loses its slot as it would lose the backend's lock, and the first in
// line gets that slot. A contender that crashes while it has the turnstile delays the others
// until its lease ends.
//
// # Limits
//
// The first in line waits for as long as its own N requires. Those behind it wait for it,
// even if their N would allow them a slot now. If an operator deletes the turnstile's record
// while slots are held, newcomers wait for the first N slots, by their own N, and do not see
// holders of other slots.
//
// A lock without slots is another lock, "jobs", and costs half the requests. A lock that will
// have slots some day can be started with an N of 1.
//
// A slot in a lock delay, whose last holder may still run, looks free. It counts from when a run tries
// to take it, so one that takes a lower slot before may be one too many by the N of that holder.
//
// The backend file has no leases. There a run that is stopped (Ctrl-Z) while it has the
// turnstile delays the others until it continues.
//
// The first in line waits for at most 8 slots at a time, and looks at the others every few
// seconds, because each handle may be a helper program.
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
	n          int
	o          locks.Options
	open       Opener
	log        *slog.Logger
	permanent  bool
	lost       chan error
	waiting    chan locks.Waiting // from the turnstile; only the latest is kept
	done       chan struct{}      // closed by Close
	forwarding sync.WaitGroup     // a goroutine that forwards the loss of our slot

	mu        sync.Mutex
	closed    bool
	cancel    context.CancelFunc  // ends the Acquire under way; nil: there is none
	turnstile locks.Lock          // nil: it has been used
	renewable map[locks.Lock]bool // the handles that Acquire needs renewed
	slot      locks.Lock          // nil: we hold none
	number    int                 // of the slot
	secrets   []string            // variables, once the turnstile has been used
	reported  map[string]bool     // what the log has already: see once
}

// Open makes a Lock on a slot of the lock that o names, which has n slots.
func Open(ctx context.Context, n int, open Opener, o locks.Options) (*Lock, error) {
	if n < 1 || n > locks.MaxSlot {
		return nil, &locks.UsageError{What: fmt.Sprintf("%d slots are out of range: 1 to %d", n, locks.MaxSlot)}
	}
	l := &Lock{
		n: n, o: o, open: open, log: o.Logger,
		lost: make(chan error, 1), waiting: make(chan locks.Waiting, 1), done: make(chan struct{}),
		renewable: map[locks.Lock]bool{}, reported: map[string]bool{},
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	turnstile, err := l.openTurnstile(ctx)
	if err != nil {
		return nil, err
	}
	l.turnstile, l.permanent = turnstile, locks.IsPermanent(turnstile)
	return l, nil
}

// handle opens the lock of one number.
func (l *Lock) handle(ctx context.Context, number int, waiting func(locks.Waiting)) (locks.Lock, error) {
	o := l.o
	o.Name, o.Waiting = locks.SlotName(o.Name, number), waiting
	return l.open(ctx, o)
}

// openTurnstile opens a handle on the turnstile. Its calls of Waiting go to reportPlace.
func (l *Lock) openTurnstile(ctx context.Context) (locks.Lock, error) {
	return l.handle(ctx, 0, func(w locks.Waiting) {
		select {
		case <-l.waiting: // nobody has received the one before
		default:
		}
		select {
		case l.waiting <- w:
		default:
		}
	})
}

// Slot returns the number of the slot that we hold, from 1, or 0 if we hold none.
func (l *Lock) Slot() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number
}

// Holders returns who holds slots, by number, whether we hold one or not. A run that has just
// taken a slot may be missing.
func (l *Lock) Holders(ctx context.Context) (map[int]locks.Status, error) {
	turnstile, done, err := l.visitTurnstile(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := locks.Require(ctx, turnstile, "--slots", locks.CanInspect, locks.CanRecord); err != nil {
		return nil, err
	}
	v, err := l.glance(ctx, turnstile)
	if err != nil {
		return nil, err
	}
	all := map[int]locks.Status{}
	for number, state := range v.held {
		all[number] = state.Status
	}
	return all, nil
}

// held returns the lock of the slot that we hold, or nil.
func (l *Lock) held() locks.Lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slot
}

// Lost implements [locks.Lock].
func (l *Lock) Lost() <-chan error { return l.lost }

// forwardLoss sends the loss of a slot to Lost.
func (l *Lock) forwardLoss(slot locks.Lock) {
	if slot.Lost() == nil {
		return
	}
	l.forwarding.Go(func() {
		select {
		case err := <-slot.Lost():
			l.lost <- err
		case <-l.done:
		}
	})
}

// Release implements [locks.Lock].
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
	l.renewable = map[locks.Lock]bool{}
	if l.cancel != nil {
		l.cancel()
	}
	l.mu.Unlock()
	if first {
		close(l.done)
	}
	l.forwarding.Wait()
	var errs []error
	for _, h := range all {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// all returns all our handles. It is called with mu held.
func (l *Lock) all() []locks.Lock {
	all := maps.Clone(l.renewable)
	for _, h := range []locks.Lock{l.turnstile, l.slot} {
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
	if l.turnstile != nil { // hooks run while we wait
		return locks.SecretEnv(l.turnstile)
	}
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
