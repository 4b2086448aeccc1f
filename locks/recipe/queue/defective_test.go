package queue_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A defective is a Lock with the defect of its server, if the server has one. Unlike a Lock, it
// knows whether the previous term ended with a release.
type defective struct {
	*queue.Lock
	c      *client
	lost   chan error
	began  atomic.Bool // a campaign has begun
	leads  atomic.Bool
	closed atomic.Bool
}

func newDefective(defect string) *sim {
	s := newSim()
	s.defect = defect
	return s
}

func (s *sim) defectiveConfig() lockstest.Config {
	c := s.config()
	c.Open, c.ReportsStart = s.openDefective, true
	return c
}

func (s *sim) openDefective(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	switch waiting := o.Waiting; {
	case s.is("waiting-is-silent"):
		o.Waiting = nil
	case waiting != nil && s.is("waiting-hides-lease"):
		o.Waiting = func(w locks.Waiting) { w.Lease = 0; waiting(w) }
	case s.is("pid-is-our-own"):
		o.PID = os.Getpid()
	case s.is("leaks-file"):
		r, w, _ := os.Pipe()
		s.leaked = append(s.leaked, r, w)
	case s.is("leaks-child"):
		_ = exec.Command("true").Start()
	}
	c := s.client(u, o)
	return &defective{Lock: queue.New(c, queue.Traits{Backend: "sim://" + u.Host, Clock: clock.Bubble{}}, o), c: c, lost: make(chan error, 1)}, nil
}

// storedName returns the name as it is, except with a defect.
func (s *sim) storedName(name string) string {
	switch {
	case s.is("names-fold-case"):
		return strings.ToLower(name)
	case s.is("names-flatten"):
		return strings.ReplaceAll(name, "/", ".")
	case s.is("names-collide-by-prefix"):
		return name[:1]
	case s.is("names-cut") && len(name) > 100:
		return name[:100]
	}
	return name
}

func (d *defective) is(defect string) bool { return d.c.is(defect) }

func (d *defective) fail(class error) error {
	return &locks.Error{Op: "do", Backend: "sim", Name: d.c.o.Name, Class: class, Err: errors.New("a defect")}
}

func (d *defective) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	d.began.Store(true)
	if d.is("acquire-ignores-context") {
		ctx = context.WithoutCancel(ctx)
	}
	g, err := d.Lock.Acquire(ctx, try)
	if held, ok := errors.AsType[*locks.HeldError](err); ok && ctx.Err() == nil {
		return g, d.refused(held)
	}
	switch {
	case err == nil:
		d.leads.Store(true)
		d.c.s.with(func() { own := d.c.last.own(); g.Clean = own != nil && own.clean })
	case errors.Is(err, locks.ErrUnavailable) && d.is("outage-is-held"):
		err = &locks.HeldError{}
	}
	if errors.Is(err, locks.ErrHeld) && ctx.Err() != nil && d.is("held-is-outage") {
		err = d.fail(locks.ErrUnavailable)
	}
	if d.is("grants-less") {
		g.TTL /= 2
	}
	return g, err
}

func (d *defective) refused(held *locks.HeldError) error {
	switch {
	case d.is("held-without-status"):
		return locks.ErrHeld
	case d.is("takes-itself-for-the-holder"):
		held.Status.RunID = d.c.o.RunID
	case d.is("raw-holder-in-error"):
		return fmt.Errorf("%w: %w by %s", held, locks.ErrHeld, held.Status.Holder)
	}
	return held
}

func (d *defective) Renew(ctx context.Context) error {
	err := d.Lock.Renew(ctx)
	if err == locks.ErrNoLease && d.is("renew-of-nothing-succeeds") {
		return nil
	}
	return err
}

func (d *defective) Release(ctx context.Context) error {
	switch {
	case d.is("release-does-nothing"):
		return nil
	case d.is("release-of-nothing-fails") && !d.began.Load():
		return d.fail(nil)
	case d.is("lost-after-release") && d.leads.Swap(false):
		d.lost <- d.fail(locks.ErrLost)
	}
	return d.Lock.Release(ctx)
}

func (d *defective) Lost() <-chan error {
	switch {
	case d.is("lost-is-another-channel"):
		return make(chan error)
	case d.is("lost-never-fires"), d.is("lost-after-release"):
		return d.lost
	}
	return d.Lock.Lost()
}

func (d *defective) Close() error {
	switch closed := d.closed.Swap(true); {
	case closed && d.is("second-close-panics"):
		panic("closed twice")
	case d.is("close-releases"):
		_ = d.Lock.Release(context.Background())
	}
	return d.Lock.Close()
}

func (d *defective) Abilities(ctx context.Context) ([]locks.Ability, error) {
	all, err := d.Lock.Abilities(ctx)
	if d.is("ability-lost") {
		all = all[1:]
	}
	return all, err
}

func (d *defective) Inspect(ctx context.Context) (locks.State, error) {
	if d.is("used-after-close") {
		return d.c.Inspect(ctx)
	}
	return d.Lock.Inspect(ctx)
}

func (d *defective) Record(ctx context.Context) ([]byte, error) {
	if d.is("record-unbounded") {
		return d.c.Record(ctx)
	}
	return d.Lock.Record(ctx)
}

func (d *defective) SetRecord(ctx context.Context, text []byte) error {
	ours := func() bool { return d.c.last != nil && d.c.line().head() == d.c.last.own() }
	may := ours // called in the step that writes
	switch {
	case d.is("text-unbounded") && len(text) > locks.MaxRecord:
		return nil
	case d.is("record-unconditional"):
		may = func() bool { return true }
	case d.is("record-by-name"):
		may = func() bool { return d.began.Load() && d.c.line().head() != nil }
	case d.is("record-when-free"):
		may = func() bool { return d.began.Load() && (d.c.line().head() == nil || ours()) }
	case d.is("record-checked-by-client"):
		d.c.s.with(func() { early := ours(); may = func() bool { return early } })
	default:
		return d.Lock.SetRecord(ctx, text)
	}
	lost := false
	err := d.c.insist(ctx, "write", func() {
		if lost = !may(); !lost {
			d.c.line().text = text
		}
	})
	if err == nil && lost {
		return d.fail(locks.ErrLost)
	}
	return cmp.Or(err, locks.CheckText(text))
}

func (d *defective) Ask(ctx context.Context, token uint64, text []byte) error {
	if d.is("text-unbounded") && len(text) > locks.MaxRecord {
		return nil
	}
	return d.Lock.Ask(ctx, token, text)
}

func (d *defective) Asked() <-chan []byte {
	switch {
	case d.is("asked-is-another-channel"):
		return make(chan []byte)
	case d.is("ask-reaches-waiters") && !d.leads.Load():
		return d.c.s.misdirected
	}
	return d.Lock.Asked()
}

func (d *defective) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	switch {
	case d.is("watch-takes-the-handle"):
		_ = d.Lock.Release(ctx)
	case d.is("watch-ignores-context"):
		ctx = context.WithoutCancel(ctx)
	}
	changes, err := d.Lock.Watch(ctx, all)
	if err != nil || !d.is("watch-stays-open") {
		return changes, err
	}
	open := make(chan struct{}, 1)
	go func() {
		for range changes {
			workers.Poke(open)
		}
	}()
	return open, nil
}
