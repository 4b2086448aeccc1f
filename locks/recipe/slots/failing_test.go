package slots

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// try acquires a slot at once.
func try(t *testing.T, l *Lock) locks.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestOpen: the number of slots has bounds, and an error of the backend is reported.
func TestOpen(t *testing.T) {
	t.Parallel()
	m, no := newMemory(), errors.New("no")
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, locks.MaxSlot: true, locks.MaxSlot + 1: false} {
		l, err := Open(t.Context(), n, m.lock, locks.Options{Name: "jobs"})
		if ok != (err == nil) || !ok && !errors.Is(err, locks.ErrUsage) {
			t.Errorf("%d slots: %v", n, err)
		}
		if err == nil {
			_ = l.Close()
		}
	}
	m.fail("open", "jobs#0", no)
	if _, err := Open(t.Context(), 1, m.lock, locks.Options{Name: "jobs"}); !errors.Is(err, no) {
		t.Errorf("got %v; want the backend's error", err)
	}
	if m.open != 0 {
		t.Errorf("%d handles are open", m.open)
	}
}

// TestHolders: anybody can find out who holds slots. What cannot be found out is an error.
func TestHolders(t *testing.T) {
	t.Parallel()
	m, no := newMemory(), errors.New("no")
	a, b, c := m.slots(t, 3, "a"), m.slots(t, 3, "b"), m.slots(t, 3, "c")
	if all, err := c.Holders(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("at first: %v, %v", all, err)
	}
	try(t, a)
	try(t, b)
	want := map[int]locks.Status{1: m.held["jobs#1"].status(), 2: m.held["jobs#2"].status()}
	open := m.open
	for _, l := range []*Lock{a, c} {
		if all, err := l.Holders(t.Context()); err != nil || !maps.Equal(all, want) {
			t.Errorf("got %v, %v; want %v", all, err, want)
		}
	}
	if m.open != open {
		t.Errorf("%d more handles are open", m.open-open)
	}
	for verb, name := range map[string]string{"open": "jobs#0", "abilities": "jobs#0", "read": "jobs#0", "inspect": "jobs#2"} {
		m.fail(verb, name, no)
		if all, err := c.Holders(t.Context()); !errors.Is(err, no) {
			t.Errorf("%s %s fails: %v, %v", verb, name, all, err)
		}
	}
}

// TestInspectFails: an inspection is complete, or an error.
func TestInspectFails(t *testing.T) {
	t.Parallel()
	m, no := newMemory(), errors.New("no")
	a, b := m.slots(t, 2, "a"), m.slots(t, 2, "b")
	try(t, a)
	open := m.open
	for _, l := range []*Lock{a, b} {
		if s, err := l.Inspect(t.Context()); err != nil || s.Holder != "a" || s.Waiters != 0 {
			t.Errorf("got %+v, %v; want a", s, err)
		}
		for verb, name := range map[string]string{"open": "jobs#0", "abilities": "jobs#0", "inspect": "jobs#0"} {
			m.fail(verb, name, no)
			if s, err := l.Inspect(t.Context()); !errors.Is(err, no) {
				t.Errorf("%s %s fails: %+v, %v", verb, name, s, err)
			}
		}
		m.fail("inspect", "jobs#1", no)
		if s, err := l.Inspect(t.Context()); !errors.Is(err, no) {
			t.Errorf("the slot cannot be inspected: %+v, %v", s, err)
		}
		m.fail("", "", nil)
	}
	if m.open != open {
		t.Errorf("%d more handles are open", m.open-open)
	}
}

// TestAcquireFails: whatever fails on the way to a slot, the error is reported, nothing is held
// afterwards, and only a handle on the turnstile that was not used stays open.
func TestAcquireFails(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for at, open := range map[[2]string]int{
		{"abilities", "jobs#0"}: 1, {"acquire", "jobs#0"}: 1, {"read", "jobs#0"}: 0, {"inspect", "jobs#1"}: 0, {"open", "jobs#1"}: 0,
		{"acquire", "jobs#1"}: 0, {"write", "jobs#0"}: 0,
	} {
		t.Run(at[0]+" "+at[1], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				l := m.slots(t, 1, "a")
				start := time.Now()
				m.fail(at[0], at[1], no)
				if g, err := l.Acquire(t.Context(), true); !errors.Is(err, no) || time.Since(start) > 0 {
					t.Errorf("got %+v, %v after %v", g, err, time.Since(start))
				}
				if err := l.Renew(t.Context()); !errors.Is(err, locks.ErrNoLease) {
					t.Errorf("renew: %v; want ErrNoLease", err)
				}
				if held := slices.Collect(maps.Keys(m.held)); len(held) > 0 || m.open != open {
					t.Errorf("held: %q; %d handles are open, want %d", held, m.open, open)
				}
				m.fail("", "", nil)
				if all, err := l.Abilities(t.Context()); err != nil || len(all) == 0 || m.open != open {
					t.Errorf("abilities: %q, %v; %d handles are open, want %d", all, err, m.open, open)
				}
				m.fail("open", "jobs#0", no)
				if g, err := l.Acquire(t.Context(), true); (open == 0) != errors.Is(err, no) {
					t.Errorf("with one more handle on the turnstile: %+v, %v", g, err)
				} else if err == nil {
					return
				}
				m.fail("", "", nil)
				try(t, l)
				if l.Slot() != 1 {
					t.Errorf("slot %d", l.Slot())
				}
			})
		})
	}
}

// TestUsed: a handle serves one term, and after Close none.
func TestUsed(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := m.slots(t, 2, "a")
	try(t, l)
	if g, err := l.Acquire(t.Context(), true); err == nil || errors.Is(err, errClosed) {
		t.Errorf("a second term: %+v, %v", g, err)
	}
	if _, err := l.Abilities(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.slots(t, 1, "b").Acquire(ctx, true); !errors.Is(err, context.Canceled) {
		t.Errorf("when the context has ended: %v", err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, do := range map[string]func() error{
		"acquire":   func() error { _, err := l.Acquire(t.Context(), true); return err },
		"renew":     func() error { return l.Renew(t.Context()) },
		"inspect":   func() error { _, err := l.Inspect(t.Context()); return err },
		"abilities": func() error { _, err := l.Abilities(t.Context()); return err },
	} {
		if err := do(); !errors.Is(err, errClosed) {
			t.Errorf("%s after Close: %v; want errClosed", name, err)
		}
	}
}

// TestOfASlot: a record and requests are those of the slot that we hold, and belong to nobody
// before.
func TestOfASlot(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := m.slots(t, 2, "a")
	all := map[string]func() error{
		"read":  func() error { _, err := l.Record(t.Context()); return err },
		"write": func() error { return l.SetRecord(t.Context(), []byte("x")) },
		"ask":   func() error { return l.Ask(t.Context(), 1, []byte("x")) },
	}
	for name, do := range all {
		if err := do(); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("%s without a slot: %v; want ErrUsage", name, err)
		}
	}
	if l.Asked() != nil {
		t.Error("requests are delivered without a slot")
	}
	try(t, l)
	for name, do := range all {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := m.records["jobs#1"]; string(got) != "x" || l.Asked() == nil {
		t.Errorf("the record of the slot is %q", got)
	}
	if got := l.SecretEnv(); !slices.Equal(got, []string{"SECRET_OF_jobs#1"}) {
		t.Errorf("secrets: %q", got)
	}
	no := errors.New("no")
	m.fail("abilities", "jobs#1", no)
	if _, err := l.Abilities(t.Context()); !errors.Is(err, no) {
		t.Errorf("abilities: %v", err)
	}
}

// TestRecordDenied: a record that may not be written is not written again; other errors may
// pass.
func TestRecordDenied(t *testing.T) {
	t.Parallel()
	for why, want := range map[error]int{nil: 1, locks.ErrDenied: 1, locks.ErrLost: 1, locks.ErrUnavailable: writes} {
		m, n := newMemory(), 0
		m.fault = func(verb, _ string) error {
			if verb == "write" {
				n++
				return why
			}
			return nil
		}
		if _, err := m.slots(t, 1, "a").Acquire(t.Context(), true); !errors.Is(err, why) || n != want {
			t.Errorf("%v: got %v after %d writes; want %d", why, err, n, want)
		}
	}
}

// TestSlotFails: a slot seems to be free, or is waited for, and no handle on it can be opened.
func TestSlotFails(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for _, waits := range []bool{false, true} {
		m := newMemory()
		if waits {
			try(t, m.slots(t, 1, "a"))
		}
		l := m.slots(t, 1, "b")
		open := m.open
		m.failLater("open", "jobs#1", no)
		if g, err := l.Acquire(t.Context(), !waits); !errors.Is(err, no) {
			t.Errorf("waits %v: got %+v, %v", waits, g, err)
		}
		if m.held["jobs#0"] != nil || m.open != open-1 {
			t.Errorf("waits %v: the turnstile is held by %v; %d handles are open, want %d", waits, m.held["jobs#0"].status(), m.open, open-1)
		}
	}
}

// TestRecordIsFull: without room in the record nobody gets a slot.
func TestRecordIsFull(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.records["jobs#0"] = []byte(`{"v":1,"x":"` + strings.Repeat("x", locks.MaxRecord-20) + `"}`)
	if g, err := m.slots(t, 1, "a").Acquire(t.Context(), true); err == nil || errors.Is(err, locks.ErrHeld) || len(m.held) > 0 {
		t.Errorf("got %+v, %v; held: %d", g, err, len(m.held))
	}
}

// TestRecordWithoutN: a record that says nothing useful about a holder's N does not let anybody
// in beside it.
func TestRecordWithoutN(t *testing.T) {
	t.Parallel()
	m := newMemory()
	token := try(t, m.slots(t, 2, "a")).Token
	for _, n := range []int{0, 1} {
		m.records["jobs#0"] = fmt.Appendf(nil, `{"v":1,"slots":{"1":{"n":%d,"token":%d}}}`, n, token)
		if g, err := m.slots(t, 2, "b").Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("n is %d: got %+v, %v; want ErrHeld", n, g, err)
		}
	}
}

// TestTimeIsUp: whose time is up learns who has a slot, also if it is not the next. If one slot
// could not be asked for, it learns that.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, down := newMemory(), &locks.Error{Class: locks.ErrUnavailable, Err: errors.New("down")}
		try(t, m.slots(t, 2, "a"))
		try(t, m.slots(t, 2, "b"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all := map[string]chan error{"next": make(chan error, 1), "outside": make(chan error, 1)}
		for holder, done := range all {
			l, err := Open(t.Context(), 2, m.lock, locks.Options{Name: "jobs", Holder: holder, ConnectTimeout: time.Second, Waiting: func(locks.Waiting) {}})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() { _, err := l.Acquire(ctx, false); done <- err }()
		}
		for holder, done := range all {
			err := <-done
			held, ok := errors.AsType[*locks.HeldError](err)
			if !ok || held.Status.Holder != "a" && held.Status.Holder != "b" || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", holder, err)
			}
		}
		m.fail("acquire", "jobs#2", down)
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.slots(t, 2, "c").Acquire(late, false); !errors.Is(err, locks.ErrUnavailable) || errors.Is(err, locks.ErrHeld) {
			t.Errorf("in an outage: got %v", err)
		}
	})
}

// TestReports: who waits outside learns of each holder, and later of the first only. Who is next
// learns whom it waits for, and has the first place.
func TestReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		try(t, m.slots(t, 2, "a"))
		try(t, m.slots(t, 2, "b"))
		next := m.waits(t, 2, "next")
		for range 2 {
			if w := <-next; w.Status.Holder != "a" && w.Status.Holder != "b" || w.Position != 1 {
				t.Errorf("the next: got %+v", w)
			}
		}
		outside := m.waits(t, 2, "outside")
		for _, want := range []string{"a", "b"} {
			if w := <-outside; w.Status.Holder != want || w.Position != 4 {
				t.Errorf("outside: got %+v; want %s", w, want)
			}
		}
		turnstile := m.last("jobs#0", "outside")
		turnstile.o.Waiting(locks.Waiting{})
		synctest.Wait()
		if w := <-outside; w.Status.Holder != "a" || w.Position != 0 || len(outside) > 0 {
			t.Errorf("later: got %+v, and %d more", w, len(outside))
		}
		m.fail("read", "jobs#0", errors.New("no"))
		turnstile.o.Waiting(locks.Waiting{Status: locks.Status{Holder: "next"}})
		synctest.Wait()
		if w := <-outside; w.Status.Holder != "next" {
			t.Errorf("if the slots cannot be inspected: got %+v", w)
		}
	})
}
