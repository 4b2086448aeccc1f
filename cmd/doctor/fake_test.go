package doctor

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// bubble is the boot clock in a bubble of synctest.
type bubble struct{}

func (bubble) Now() clock.Instant { return clock.Instant(time.Now().UnixNano()) }

// A store is a backend with one lock. Its fields say what is wrong with it.
type store struct {
	fail      map[string]error // what an operation returns
	can       []locks.Ability
	permanent bool
	slow      time.Duration                     // a renewal takes so long
	later     bool                              // a request arrives a moment after the next renewal
	slowOf    uint64                            // only renewals under this token are slow; 0: all are
	opening   time.Duration                     // how long it takes to open a handle while slowOf is held
	grant     func(time.Duration) time.Duration // the ttl granted for the one asked for
	early     time.Duration                     // leases end so much too early
	repeats   bool                              // tokens do not rise
	last      uint64                            // the last token that is granted; 0: there is none
	shared    bool                              // every contender gets the lock
	clean     bool                              // each grant says that the previous holder released
	mute      bool                              // an acquire gets no answer
	others    []string                          // further locks, on the first page of the list
	servers   locks.Servers
	version   string

	mu      sync.Mutex
	holder  *fake
	until   time.Time
	token   uint64
	names   []string // of all locks that were held
	record  []byte
	left    []byte // a request that was not delivered yet
	forgot  []string
	opened  int
	renewed []time.Time
	changed chan struct{} // closed and replaced with each change
}

func everything() []locks.Ability {
	return []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanProbe, locks.CanForget}
}

func newStore() *store {
	return &store{
		fail: map[string]error{}, can: everything(), changed: make(chan struct{}),
		grant:   func(asked time.Duration) time.Duration { return asked },
		servers: locks.Servers{Product: "fake", Servers: []locks.Server{{Address: "h:1", Version: "1.2"}}},
		version: "v1",
	}
}

func (s *store) open(_ context.Context, _ *url.URL, o locks.Options) (locks.Lock, error) {
	s.mu.Lock()
	busy := s.opening > 0 && s.token == s.slowOf
	s.mu.Unlock()
	if busy {
		time.Sleep(s.opening)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	return &fake{s: s, o: o, asked: make(chan []byte, 1)}, s.fail["open"]
}

// change wakes up the waiters; mu is held.
func (s *store) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *store) isSlow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow > 0 && (s.slowOf == 0 || s.slowOf == s.token)
}

// free reports whether the lock is free; mu is held.
func (s *store) free() bool {
	return s.holder == nil || !s.permanent && !time.Now().Before(s.until)
}

// A fake is a handle on a store.
type fake struct {
	s     *store
	o     locks.Options
	asked chan []byte
	led   bool // it had the lock
}

func (f *fake) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	for {
		g, wait, left := f.attempt()
		switch {
		case try && f.s.mute:
			<-ctx.Done()
			return locks.Grant{}, ctx.Err()
		case wait == nil:
			return g, f.s.fail["acquire"]
		case try:
			return g, &locks.HeldError{}
		}
		f.o.Waiting(locks.Waiting{})
		timer := time.NewTimer(left)
		select {
		case <-wait:
		case <-timer.C:
		case <-ctx.Done():
			return g, ctx.Err()
		}
		timer.Stop()
	}
}

func (f *fake) attempt() (g locks.Grant, wait <-chan struct{}, left time.Duration) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail["acquire"] != nil {
		return g, nil, 0
	}
	if !s.shared && !s.free() || s.last > 0 && s.token == s.last {
		if left = time.Until(s.until); s.permanent || left <= 0 {
			left = time.Hour
		}
		return g, s.changed, left
	}
	if !s.repeats || s.token == 0 {
		s.token++
	}
	g = locks.Grant{Token: s.token, TTL: s.grant(f.o.TTL), Clean: s.clean || s.holder == nil}
	if s.permanent {
		g.TTL = 0
	}
	f.led = true
	s.holder, s.until = f, time.Now().Add(g.TTL-s.early)
	s.names = append(s.names, f.o.Name)
	s.change()
	return g, nil, 0
}

func (f *fake) Renew(ctx context.Context) error {
	if f.s.permanent {
		return locks.ErrNoLease
	}
	if f.s.isSlow() {
		if err := pause(ctx, f.s.slow); err != nil {
			return err
		}
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	switch {
	case f.s.fail["renew"] != nil:
		return f.s.fail["renew"]
	case f.s.holder != f && f.led:
		return locks.ErrLost
	case f.s.holder != f:
		return locks.ErrNoLease
	}
	if text := f.s.left; text != nil {
		f.s.left = nil
		time.AfterFunc(time.Millisecond, func() { f.asked <- text })
	}
	f.s.renewed = append(f.s.renewed, time.Now())
	f.s.until = time.Now().Add(f.s.grant(f.o.TTL) - f.s.early)
	return nil
}

func (f *fake) Release(context.Context) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if err := f.s.fail["release"]; err != nil {
		return err
	}
	if f.s.holder == f {
		f.s.holder = nil
		f.s.change()
	}
	return nil
}

func (f *fake) Lost() <-chan error { return nil }
func (f *fake) Close() error       { return nil }
func (f *fake) Permanent() bool    { return f.s.permanent }

func (f *fake) Version(context.Context) (string, error) { return f.s.version, nil }

func (f *fake) Abilities(context.Context) ([]locks.Ability, error) {
	return f.s.can, f.s.fail["abilities"]
}

func (f *fake) Inspect(context.Context) (locks.State, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return locks.State{Status: locks.Status{Held: !f.s.free() && f.s.fail["blind"] == nil, Token: f.s.token}}, f.s.fail["inspect"]
}

func (f *fake) Record(context.Context) ([]byte, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.s.record, nil
}

func (f *fake) SetRecord(_ context.Context, text []byte) error {
	if err := f.s.fail["record"]; err != nil {
		return err
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.fail["read"] == nil {
		f.s.record = text
	}
	return nil
}

func (f *fake) Ask(_ context.Context, token uint64, text []byte) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	switch {
	case f.s.fail["deliver"] != nil || f.s.fail["ask"] != nil || token != f.s.token:
	case f.s.later:
		f.s.left = text
	default:
		f.s.holder.asked <- text
	}
	return f.s.fail["ask"]
}

func (f *fake) Asked() <-chan []byte { return f.asked }

// List has the lock on its second page.
func (f *fake) List(_ context.Context, cursor string) ([]locks.Listed, string, error) {
	switch {
	case f.s.fail["list"] != nil:
		return nil, "", f.s.fail["list"]
	case cursor == "":
		page := []locks.Listed{{Name: "other"}}
		for _, name := range f.s.others {
			page = append(page, locks.Listed{Name: name})
		}
		return page, "2", nil
	case f.s.fail["listed"] != nil:
		return nil, "", nil
	}
	return []locks.Listed{{Name: f.o.Name}}, "", nil
}

func (f *fake) Probe(context.Context) (locks.Servers, error) { return f.s.servers, f.s.fail["probe"] }

func (f *fake) Forget(context.Context) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	switch {
	case f.s.fail["forget"] != nil:
		return f.s.fail["forget"]
	case !f.s.free():
		return &locks.HeldError{}
	}
	f.s.forgot = append(f.s.forgot, f.o.Name)
	return nil
}

// config returns a Config with which all checks succeed.
func config(s *store) Config {
	return Config{
		Backend: "fake://h:1/p", Source: "a test", Open: s.open,
		Find:    func(string) (string, error) { return "/helper", nil },
		Foreign: func(string) bool { return false },
		Holder:  "us", TTL: 15 * time.Second, ConnectTimeout: 5 * time.Second, Version: "v1",
		Clock: bubble{}, Report: func(Check) {}, Progress: func(string) {},
	}
}

// examine makes all checks in a bubble, and returns them.
func examine(t *testing.T, s *store, change func(*Config)) (checks []Check) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := config(s)
		if change != nil {
			change(&c)
		}
		checks = diagnose(t.Context(), t.Context(), c)
	})
	return checks
}

// find returns the check with a name.
func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no check %q among %v", name, checks)
	}
	return checks[i]
}

// levels returns the levels of all checks by name, which must be unique.
func levels(t *testing.T, checks []Check) map[string]Level {
	t.Helper()
	all := map[string]Level{}
	for _, c := range checks {
		if all[c.Name] != "" {
			t.Errorf("two checks %q", c.Name)
		}
		all[c.Name] = c.Level
	}
	return all
}
