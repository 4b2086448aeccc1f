package lockstest

import (
	"context"
	"time"
)

// A follower inspects locks when Watch reports a change, and not otherwise.
type follower struct {
	e       *env
	changed <-chan struct{}
	cancel  context.CancelFunc
}

// follows begins to watch.
func (k *contender) follows(all bool) *follower {
	k.e.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k.e.Cleanup(cancel)
	changed, err := k.watch(ctx, all)
	if err != nil {
		k.e.Fatalf("%s: watch: %v", k.o.Holder, err)
	}
	return &follower{k.e, changed, cancel}
}

// settle waits until nothing more is reported, so that the next report is about the next
// change.
func (f *follower) settle() {
	f.e.Helper()
	for end := f.e.now().Add(f.e.patience); ; {
		select {
		case _, goesOn := <-f.changed:
			if !goesOn {
				f.e.Fatal("the watch ended by itself")
			}
			if f.e.now() > end {
				f.e.Fatalf("changes are reported for %v, but there are none", f.e.patience)
			}
		case <-time.After(f.e.wakes + f.e.c.WatchDelay):
			return
		}
	}
}

// awaits returns when an inspection after a report finds the change, or fails the test.
func (f *follower) awaits(what string, seen func() bool) {
	f.e.Helper()
	limit := f.e.prompt + f.e.c.WatchDelay
	for end := time.After(limit); ; {
		select {
		case _, goesOn := <-f.changed:
			if !goesOn {
				f.e.Fatalf("the watch ended by itself before it reported %s", what)
			}
			if seen() {
				return
			}
		case <-end:
			f.e.Errorf("not reported within %v: %s", limit, what)
			return
		}
	}
}

// ends waits until the channel is closed.
func (f *follower) ends(when string) {
	f.e.Helper()
	for end := time.After(f.e.prompt); ; {
		select {
		case _, goesOn := <-f.changed:
			if !goesOn {
				return
			}
		case <-end:
			f.e.Errorf("%s, the channel of a watch is not closed within %v", when, f.e.prompt)
			return
		}
	}
}
