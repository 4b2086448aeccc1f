package slots

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestWarnings: the log says once what others allow, and warns if that costs us a slot.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const more, fewer = `level=INFO msg="the holders allow more slots`, `msg="a holder allows fewer slots`
	for name, tt := range map[string]struct {
		holders []int
		record  string // "": as the holders wrote it
		n       int
		lines   int
		want    string
	}{
		"the same":           {[]int{2}, "", 2, 0, ""},
		"nobody":             {nil, "", 2, 0, ""},
		"full":               {[]int{3, 3, 3}, "", 3, 0, ""},
		"more":               {[]int{3}, "", 2, 1, more + ` than we do; our number counts" slots=2 theirs=3`},
		"more, and no room":  {[]int{3, 3}, "", 2, 1, more},
		"fewer, and room":    {[]int{2}, "", 3, 1, "level=INFO " + fewer + ` than we do; its number counts" slots=3 theirs=2`},
		"fewer, and no room": {[]int{2, 2}, "", 3, 1, "level=WARN " + fewer},
		"another term":       {[]int{2}, `{"v":1,"slots":{"1":{"n":2,"token":99}}}`, 2, 1, `level=WARN msg="a slot is held but not recorded`},
		"garbage":            {[]int{2}, "?", 2, 2, `level=WARN msg="the record of the slots is invalid`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				for i, n := range tt.holders {
					try(t, m.slots(t, n, fmt.Sprint("holder ", i)))
				}
				if tt.record != "" {
					m.records["jobs#0"] = []byte(tt.record)
				}
				var log drive.Log
				l, err := Open(t.Context(), tt.n, m.lock, locks.Options{
					Name: "jobs", Holder: "a", ConnectTimeout: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				for range 2 {
					_, _ = l.Acquire(t.Context(), true)
				}
				if got := log.String(); strings.Count(got, "\n") != tt.lines || tt.lines > 0 && !strings.Contains(got, tt.want) {
					t.Errorf("got %d lines, want %d, with %s:\n%s", strings.Count(got, "\n"), tt.lines, tt.want, got)
				}
			})
		})
	}
}

// TestTurnstileIsBusy: who does not wait tries for a while to get the turnstile, if a slot seems
// to be free.
func TestTurnstileIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		l := m.slots(t, 1, "a")
		other, _ := m.lock(t.Context(), locks.Options{Name: "jobs#0", Holder: "other"})
		if _, err := other.Acquire(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if g, err := l.Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("got %+v, %v; want ErrHeld", g, err)
		}
		if took := time.Since(start); took < 600*time.Millisecond || took > 700*time.Millisecond {
			t.Errorf("tried for %v; want three fifths of a second", took)
		}
		time.AfterFunc(300*time.Millisecond, func() { _ = other.Release(t.Context()) })
		start = time.Now()
		try(t, l)
		_, _ = other.Acquire(t.Context(), true)
		_, err := m.slots(t, 2, "b").Acquire(t.Context(), true)
		if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Holder != "a" {
			t.Errorf("with a holder that allows one: %v; want that a has it", err)
		}
		if took := time.Since(start); took < 300*time.Millisecond || took > 400*time.Millisecond {
			t.Errorf("a slot after %v; want it soon after the turnstile became free", took)
		}
	})
}

// TestOneBidWins: two slots become free at once. The one that we do not need is free again.
func TestOneBidWins(t *testing.T) {
	t.Parallel()
	for range 20 { // sometimes only one is granted before the other is given up
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a, b, c := m.slots(t, 2, "a"), m.slots(t, 2, "b"), m.slots(t, 2, "c")
			try(t, a)
			try(t, b)
			open, done := m.open, make(chan error, 1)
			go func() { _, err := c.Acquire(t.Context(), false); done <- err }()
			time.Sleep(time.Second)
			m.mu.Lock()
			delete(m.held, "jobs#1")
			delete(m.held, "jobs#2")
			m.mu.Unlock()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if len(m.held) != 1 || m.held[fmt.Sprint("jobs#", c.Slot())] == nil || m.open != open {
				t.Errorf("slot %d; held: %v; %d handles are open, want %d", c.Slot(), m.held, m.open, open)
			}
		})
	}
}

// TestBackendCannotWait: Acquire of a backend may return at once that a lock is held. Then that
// is the result while we have not got the turnstile, and a slot is tried again.
func TestBackendCannotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.impatient = true
		a, b, c := m.slots(t, 1, "a"), m.slots(t, 1, "b"), m.slots(t, 1, "c")
		try(t, a)
		done := make(chan error, 1)
		go func() { _, err := b.Acquire(t.Context(), false); done <- err }()
		time.Sleep(5 * time.Second)
		start := time.Now()
		if g, err := c.Acquire(t.Context(), false); !errors.Is(err, locks.ErrHeld) || time.Since(start) > 100*time.Millisecond {
			t.Errorf("c: %+v, %v after %v; want ErrHeld at once", g, err, time.Since(start))
		}
		m.mu.Lock()
		tried := m.tried
		m.mu.Unlock()
		if tried < 5 || tried > 15 {
			t.Errorf("%d requests to acquire in 5 s", tried)
		}
		other, _ := m.lock(t.Context(), locks.Options{Name: "jobs#0", Holder: "other"})
		_ = a.Release(t.Context())
		start = time.Now()
		if err := <-done; err != nil || time.Since(start) > time.Second {
			t.Errorf("b: %v, %v after the release", err, time.Since(start))
		}
		_ = b.Release(t.Context())
		_, _ = other.Acquire(t.Context(), true)
		start = time.Now()
		if g, err := c.Acquire(t.Context(), false); !errors.Is(err, locks.ErrHeld) || time.Since(start) > 0 {
			t.Errorf("c: %+v, %v after %v; want at once that the turnstile is held", g, err, time.Since(start))
		}
	})
}

// TestQueue: those who wait are the turnstile's holder and those behind it.
func TestQueue(t *testing.T) {
	t.Parallel()
	for _, queues := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			m.queues = queues
			a, b := m.slots(t, 2, "a"), m.slots(t, 2, "b")
			look := func(l *Lock, holder string, waiters int, queue ...string) {
				t.Helper()
				s, err := l.Inspect(t.Context())
				var got []string
				for _, p := range s.Queue {
					got = append(got, p.Holder)
				}
				if !queues {
					queue = nil
				}
				if err != nil || s.Holder != holder || s.Waiters != waiters || !slices.Equal(got, queue) {
					t.Errorf("got %+v, %v; want %s, and %d waiters: %q", s, err, holder, waiters, queue)
				}
			}
			look(a, "", 0)
			try(t, a)
			try(t, b)
			look(a, "a", 0)
			look(b, "b", 0)
			m.waits(t, 2, "next")
			look(b, "b", 1, "next")
			m.waits(t, 2, "outside")
			look(a, "a", 2, "next", "outside")
			look(m.slots(t, 2, "who asks"), "a", 2, "next", "outside")
		})
	}
	m := newMemory()
	m.queues = true
	a := m.slots(t, 1, "a")
	other, _ := m.lock(t.Context(), locks.Options{Name: "jobs#0", Holder: "other", RunID: "other"})
	_, _ = other.Acquire(t.Context(), true)
	if s, err := a.Inspect(t.Context()); err != nil || s.Held || s.Waiters != 0 {
		t.Errorf("nobody has a slot: got %+v, %v", s, err)
	}
	_ = other.Release(t.Context())
	try(t, a)
	same, _ := m.lock(t.Context(), locks.Options{Name: "jobs#0", Holder: "a", RunID: "run of a"})
	_, _ = same.Acquire(t.Context(), true)
	if s, err := a.Inspect(t.Context()); err != nil || len(s.Queue) != 0 {
		t.Errorf("the holder has not left the turnstile yet: got %+v, %v", s, err)
	}
	_ = same.Release(t.Context())
	m.waiting["jobs#1"] = []*memoryLock{{o: locks.Options{Holder: "next"}}, {o: locks.Options{Holder: "nobody"}}}
	if s, err := a.Inspect(t.Context()); err != nil || len(s.Queue) != 1 || s.Queue[0].Holder != "next" {
		t.Errorf("two wait for one slot: got %+v, %v", s, err)
	}
	m.waiting["jobs#1"] = nil
	_, _ = other.Acquire(t.Context(), true)
	if s, err := a.Inspect(t.Context()); err != nil || len(s.Queue) != 1 || s.Queue[0].Holder != "other" || s.Waiters != 1 {
		t.Errorf("the turnstile's holder waits for another slot: got %+v, %v", s, err)
	}
}
