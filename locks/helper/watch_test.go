package helper

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// over checks that watching ends.
func over(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	deadline := time.After(limit)
	for {
		select {
		case _, goesOn := <-changed:
			if !goesOn {
				return
			}
		case <-deadline:
			t.Fatal("the channel did not close")
		}
	}
}

// TestWatch checks that a watch reports changes and ends with its context, in the helper
// as well.
func TestWatch(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/notes"
	l := start(t, able("fake://h"+path+"?changes=2"), options())
	ctx, cancel := context.WithCancel(t.Context())
	changed, err := l.Watch(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	drive.Within(t, limit, changed)
	checkClass(t, "renew during a watch", l.Renew(t.Context()), nil)
	cancel()
	over(t, changed)
	if !awaitNote(t, path, "watch ended") || !strings.Contains(read(t, path), "watch true\n") {
		t.Errorf("the backend was asked %q", read(t, path))
	}
	if _, err := l.Acquire(t.Context(), true); err != nil {
		t.Errorf("acquire after a watch: %v", err)
	}
}

// TestSecondWatch checks that a second watch ends the first and replaces it.
func TestSecondWatch(t *testing.T) {
	t.Parallel()
	l := start(t, able("fake://h/?changes=1"), options())
	ctx := within(t, limit)
	first, err := l.Watch(ctx, true)
	checkClass(t, "watch", err, nil)
	second, err := l.Watch(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	over(t, first)
	if _, goesOn := <-second; !goesOn {
		t.Error("the second watch ended with the first")
	}
}

// TestWatchEnds checks that a watch ends when the backend stops, with the handle, and
// with the helper.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		url string
		end func(*Lock)
	}{
		"by itself":  {able("fake://h/?changes=1&end"), func(*Lock) {}},
		"closed":     {able("fake://h/"), func(l *Lock) { _ = l.Close() }},
		"helper":     {able("fake://h/"), func(l *Lock) { l.last().process.kill() }},
		"last words": {"dies-watched://h/", func(*Lock) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := hold(t, tt.url, options())
			changed, err := l.Watch(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			tt.end(l)
			over(t, changed)
		})
	}
}

// TestWatchFails checks that the error says why, and that nothing is watched.
func TestWatchFails(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]error{"usage": locks.ErrUsage, "denied": locks.ErrDenied} {
		changed, err := start(t, able("fake://h/?watch="+class), options()).Watch(t.Context(), true)
		checkClass(t, "watch", err, want)
		if changed != nil {
			t.Error("got a channel although nothing is watched")
		}
	}
	ctx := within(t, 50*time.Millisecond)
	_, err := start(t, able("fake://h/?watch=hang"), options()).Watch(ctx, true)
	checkClass(t, "watch", err, context.DeadlineExceeded)
}

// TestRestless checks that changes that nobody has received merge into one, and delay
// nothing.
func TestRestless(t *testing.T) {
	t.Parallel()
	l := hold(t, "restless://h/", options())
	changed, err := l.Watch(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	reports := 0
	for end := time.After(limit / 10); end != nil; {
		select {
		case <-changed:
			reports++
			time.Sleep(time.Millisecond)
		case <-end:
			end = nil
		}
	}
	if reports == 0 || reports > int(limit/10/time.Millisecond)+2 {
		t.Errorf("%d reports", reports)
	}
}

// TestTenacious: a helper that does not stop watching is ignored, and costs no more than
// one of the requests that may wait.
func TestTenacious(t *testing.T) {
	t.Parallel()
	l := hold(t, "tenacious://h/", options())
	ctx, cancel := context.WithCancel(t.Context())
	changed, err := l.Watch(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	over(t, changed)
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	checkPending(t, l, 1)
}

// TestChangeBeforeTheFirstLook: a change that arrives right after the event that the
// watch has begun is not mistaken for it.
func TestChangeBeforeTheFirstLook(t *testing.T) {
	t.Parallel()
	s := newSession("fake", locks.Error{}, closer{io.Discard})
	for _, method := range []string{methodOpen, methodWatch} {
		if _, err := s.send(t.Context(), request{Method: method}); err != nil {
			t.Fatal(err)
		}
	}
	p := s.pending[2]
	_ = s.read(strings.NewReader(`{"event":"hello","protocol":[1],"scheme":"fake"}
{"id":1,"result":{}}
{"event":"changed","id":2}
{"event":"changed","id":2}
{"event":"changed","id":2}
`))
	drive.Within(t, limit, p.watch.changed)
	select {
	case <-p.watch.changed:
		t.Error("several changes were waiting to be received")
	default:
	}
}
