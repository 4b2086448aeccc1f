package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A memory has locks without leases, in this process. It is for tests of what goes wrong
// around slots; the conformance suite tests the rest.
type memory struct {
	mu      sync.Mutex
	held    map[string]*memoryLock
	records map[string][]byte
	open    int // handles
	handles []*memoryLock
	tokens  uint64
	waiting map[string][]*memoryLock // in order
	tried   int                      // requests to acquire

	impatient bool                          // nobody waits for a lock
	queues    bool                          // it has the ability to report queues
	fault     func(verb, name string) error // nil: nothing fails
}

func newMemory() *memory {
	return &memory{held: map[string]*memoryLock{}, records: map[string][]byte{}, waiting: map[string][]*memoryLock{}, fault: func(string, string) error { return nil }}
}

// fail makes one verb fail, of the lock with one name.
func (m *memory) fail(verb, name string, why error) {
	m.fault = func(v, n string) error {
		if v == verb && n == name {
			return why
		}
		return nil
	}
}

// failLater is the same, but lets the first call pass.
func (m *memory) failLater(verb, name string, why error) {
	first := true
	m.fault = func(v, n string) error {
		if v != verb || n != name {
			return nil
		}
		if first {
			first = false
			return nil
		}
		return why
	}
}

// slots opens a Lock with n slots.
func (m *memory) slots(t *testing.T, n int, holder string) *Lock {
	t.Helper()
	l, err := Open(t.Context(), n, m.lock, locks.Options{Name: "jobs", Holder: holder, RunID: "run of " + holder, ConnectTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// waits opens a Lock with n slots, and lets it wait for one. The reports of whom it waits for
// go to a channel.
func (m *memory) waits(t *testing.T, n int, holder string) <-chan locks.Waiting {
	t.Helper()
	reports := make(chan locks.Waiting, 99)
	l, err := Open(t.Context(), n, m.lock, locks.Options{
		Name: "jobs", Holder: holder, ConnectTimeout: time.Second, Waiting: func(w locks.Waiting) { reports <- w },
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := l.Acquire(t.Context(), false); done <- err }()
	t.Cleanup(func() { _ = l.Close(); <-done })
	synctest.Wait()
	return reports
}

// last returns the last handle of a contender that reports whom it waits for.
func (m *memory) last(name, holder string) (last *memoryLock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.handles {
		if l.o.Name == name && l.o.Holder == holder && l.o.Waiting != nil {
			last = l
		}
	}
	return last
}

// lock is an Opener.
func (m *memory) lock(_ context.Context, o locks.Options) (locks.Lock, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("open", o.Name); err != nil {
		return nil, err
	}
	m.open++
	l := &memoryLock{m: m, o: o}
	m.handles = append(m.handles, l)
	return l, nil
}

// A memoryLock is a handle on one of them.
type memoryLock struct {
	m      *memory
	o      locks.Options
	token  uint64
	closed bool
	over   bool // its lease has ended
	delay  bool // its lease was ended early: it looks free, and nobody gets it
}

// do does something to the lock, unless that is to fail.
func (l *memoryLock) do(verb string, f func() error) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.m.fault(verb, l.o.Name); err != nil {
		return err
	}
	return f()
}

func (l *memoryLock) status() locks.Status {
	if l == nil || l.delay {
		return locks.Status{}
	}
	s := locks.Status{Held: true, Holder: l.o.Holder, RunID: l.o.RunID, Token: l.token}
	if l.over {
		s.Left = -1
	}
	return s
}

func (l *memoryLock) Acquire(ctx context.Context, try bool) (g locks.Grant, err error) {
	for first := true; ; first = false {
		err = l.do("acquire", func() error {
			l.m.tried++
			if other := l.m.held[l.o.Name]; other != nil && !other.over {
				return &locks.HeldError{Status: other.status()}
			}
			l.m.tokens++
			l.token, l.m.held[l.o.Name] = l.m.tokens, l
			g = locks.Grant{Token: l.token, Clean: true}
			return nil
		})
		held, ok := errors.AsType[*locks.HeldError](err)
		if !ok || try || l.m.impatient {
			return g, err
		}
		if first {
			l.wait()
			defer l.leave()
			if l.o.Waiting != nil {
				l.o.Waiting(locks.Waiting{Status: held.Status, Position: 3})
			}
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return g, fmt.Errorf("%w (%w)", err, held)
		}
	}
}

// wait and leave enter and leave the queue.
func (l *memoryLock) wait() {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.m.waiting[l.o.Name] = append(l.m.waiting[l.o.Name], l)
}

func (l *memoryLock) leave() {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.m.waiting[l.o.Name] = slices.DeleteFunc(l.m.waiting[l.o.Name], func(other *memoryLock) bool { return other == l })
}

func (l *memoryLock) Renew(context.Context) error { return l.do("renew", func() error { return nil }) }

func (l *memoryLock) Release(context.Context) error {
	return l.do("release", func() error {
		if l.m.held[l.o.Name] == l {
			delete(l.m.held, l.o.Name)
		}
		return nil
	})
}

func (l *memoryLock) SecretEnv() []string { return []string{"SECRET_OF_" + l.o.Name} }

func (l *memoryLock) Lost() <-chan error { return nil }

func (l *memoryLock) Close() error {
	return l.do("close", func() error {
		if !l.closed {
			l.m.open--
		}
		l.closed = true
		return nil
	})
}

func (l *memoryLock) Abilities(context.Context) (all []locks.Ability, err error) {
	err = l.do("abilities", func() error {
		all = []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList}
		if l.m.queues {
			all = append(all, locks.CanQueue)
		}
		return nil
	})
	return all, err
}

func (l *memoryLock) Inspect(context.Context) (s locks.State, err error) {
	err = l.do("inspect", func() error {
		s.Status = l.m.held[l.o.Name].status()
		for _, w := range l.m.waiting[l.o.Name] {
			s.Waiters++
			if l.m.queues {
				s.Queue = append(s.Queue, locks.Place{Holder: w.o.Holder})
			}
		}
		return nil
	})
	return s, err
}

func (l *memoryLock) Record(context.Context) (text []byte, err error) {
	err = l.do("read", func() error { text = slices.Clone(l.m.records[l.o.Name]); return nil })
	return text, err
}

func (l *memoryLock) SetRecord(_ context.Context, text []byte) error {
	return l.do("write", func() error { l.m.records[l.o.Name] = slices.Clone(text); return nil })
}

func (l *memoryLock) Ask(context.Context, uint64, []byte) error {
	return l.do("ask", func() error { return nil })
}

func (l *memoryLock) Asked() <-chan []byte { return make(chan []byte) }
