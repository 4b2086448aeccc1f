package helper

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func TestGrant(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/?print=hello&print={}", options())
	got, err := l.Acquire(t.Context(), true)
	want := locks.Grant{Token: 1<<64 - 1, TTL: 15 * time.Second, Clean: true}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if got, want := locks.SecretEnv(l), []string{"FAKE_PASSWORD"}; !reflect.DeepEqual(got, want) {
		t.Errorf("secret variables: got %q, want %q", got, want)
	}
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	checkClass(t, "release", l.Release(t.Context()), nil)
	checkClass(t, "release again", l.Release(t.Context()), nil)
	if err := l.Renew(t.Context()); err == nil {
		t.Error("renewed a released lock")
	}
	// The helper ends by itself after the release, before Close.
	drive.Eventually(t, limit, "the helper has ended", func() bool { return isClosed(l.last().gone) })
	checkClass(t, "close", l.Close(), nil)
}

// TestErrors checks that each class arrives as it was sent.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range classes() {
		if c.name == "held" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := hold(t, "fake://h/?acquire=ok&renew="+c.name, options())
			err := l.Renew(t.Context())
			checkClass(t, "renew", err, c.err)
			if got, want := err.Error(), `renew "jobs/nightly" on fake://h:1: because`; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got, want := locks.Hint(err), "do this"; got != want {
				t.Errorf("hint: got %q, want %q", got, want)
			}
			for _, other := range classes() {
				if errors.Is(err, other.err) != errors.Is(c.err, other.err) {
					t.Errorf("%s: whether it is %s is wrong", c.name, other.name)
				}
			}
		})
	}
}

func TestUnclassedError(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/?acquire=plain", options())
	_, err := l.Acquire(t.Context(), true)
	if err == nil || err.Error() != "unclassed" || className(err) != "" {
		t.Errorf("got %v of class %q", err, className(err))
	}
}

// TestHeldSince uses a time that JSON cannot represent.
func TestHeldSince(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/?acquire=year", options())
	_, err := l.Acquire(t.Context(), true)
	held, ok := errors.AsType[*locks.HeldError](err)
	if !ok || !held.Status.Since.IsZero() {
		t.Errorf("got %v, %+v", err, held)
	}
}

// TestOpenErrors checks that Acquire reports an error in the URL, and then each other
// call does, as the backend made it.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/?open=parameter", options())
	for range 2 {
		_, err := l.Acquire(t.Context(), false)
		checkClass(t, "acquire", err, locks.ErrUsage)
		if got, want := err.Error(), `unknown fake parameter "cacrt" (did you mean "cacert"?); known: cacert`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	checkClass(t, "renew", l.Renew(t.Context()), locks.ErrUsage)
	checkClass(t, "release", l.Release(t.Context()), nil)

	o := options()
	o.TTL = 25 * time.Hour
	_, err := start(t, "fake://h/", o).Acquire(t.Context(), false)
	checkClass(t, "acquire with a ttl of 25 hours", err, locks.ErrUsage)
}

// TestWaiting checks that only Acquire itself reports what it waits for, and that the
// latest report is the last.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, try := range []bool{true, false} {
		var reports []locks.Waiting
		o := options()
		o.Waiting = func(w locks.Waiting) { reports = append(reports, w) }
		l := start(t, "fake://h/?waiting=1000", o)
		if _, err := l.Acquire(t.Context(), try); err != nil {
			t.Fatal(err)
		}
		if try && len(reports) > 0 {
			t.Errorf("a try reported what it waits for: %+v", reports)
		}
		want := locks.Waiting{Status: locks.Status{Held: true, Holder: "w"}, Lease: time.Second, Position: 1}
		if !try && (len(reports) == 0 || reports[len(reports)-1] != want) {
			t.Errorf("got %+v; the last should be %+v", reports, want)
		}
	}
}

// untilAcquire returns a context that is canceled when the fake backend has noted an acquire.
func untilAcquire(t *testing.T, log string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		awaitNote(t, log, "acquire")
	}()
	return ctx
}

// TestCancelAcquire gives up a waiting acquire.
func TestCancelAcquire(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	l := start(t, "fake://h"+log+"?acquire=wait", options())
	ctx := untilAcquire(t, log)
	for range 2 { // the second time it has already ended
		_, err := l.Acquire(ctx, false)
		checkClass(t, "acquire", err, context.Canceled)
		if className(err) != "" {
			t.Errorf("the error has the class %q", className(err))
		}
	}
	checkAsked(t, log, "open\ntry=false\nacquire\nacquire cancelled\n")
}

// TestLastWord: an acquire that is given up returns what the helper knows by then.
func TestLastWord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		how   string
		class error
		text  string
	}{
		{"late held", locks.ErrHeld, "(held by somebody)"},
		{"late unavailable", locks.ErrUnavailable, "(no quorum)"},
		{"late lost", locks.ErrLost, "no quorum"},
		{"late denied", locks.ErrDenied, "(no quorum)"},
		{"late ", nil, ""},
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			l := start(t, "fake://h"+log+"?acquire="+url.QueryEscape(tt.how), options())
			ctx := untilAcquire(t, log)
			_, err := l.Acquire(ctx, false)
			checkClass(t, "acquire", err, context.Canceled)
			want := `acquire "jobs/nightly" on fake://h: context canceled`
			if tt.class != nil {
				checkClass(t, "acquire", err, tt.class)
			} else if className(err) != "" {
				t.Errorf("the error has the class %q", className(err))
			}
			if !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), tt.text) || strings.Count(err.Error(), "cancel") > 1 {
				t.Errorf("got %v; want %s…%s", err, want, tt.text)
			}
			if held, ok := errors.AsType[*locks.HeldError](err); ok && held.Status.Holder != "somebody" {
				t.Errorf("got the status %+v", held.Status)
			}
			if want := map[bool]string{true: "do this"}[tt.class != nil && tt.class != locks.ErrHeld]; locks.Hint(err) != want {
				t.Errorf("got the hint %q, want %q", locks.Hint(err), want)
			}
		})
	}
}

// TestCancelGranted cancels an acquire that succeeds nevertheless. The lock must be
// released before Acquire returns, and then the handle has had its campaign.
func TestCancelGranted(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	l := start(t, "fake://h"+log+"?acquire=greedy&ttl=0s", options())
	ctx := untilAcquire(t, log)
	_, err := l.Acquire(ctx, false)
	checkClass(t, "acquire", err, context.Canceled)
	checkAsked(t, log, "open\ntry=false\nacquire\nrelease\n")
	if _, err = l.Acquire(t.Context(), true); err == nil {
		t.Error("a handle had a second campaign")
	}
	checkNotLost(t, l)
}

// TestAcquireAgain checks that an acquire of a lock that was granted is refused.
func TestAcquireAgain(t *testing.T) {
	t.Parallel()
	_, err := hold(t, "fake://h/", options()).Acquire(t.Context(), true)
	checkClass(t, "acquire of a lock that we hold", err, locks.ErrUsage)
}

// TestCancelDeaf cancels when the backend does not listen. After a while the helper must
// be killed, so that nobody can renew what it may be granted.
func TestCancelDeaf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		how, note string
		killed    bool
	}{
		{"acquire=hang", "acquire", true},
		{"acquire=greedy&release=hang", "acquire", true},
		{"open=hang", "open", false}, // the acquire has not begun
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			l := start(t, "fake://h"+log+"?"+tt.how, options())
			ctx, cancel := context.WithCancel(t.Context())
			var begun time.Time
			go func() {
				defer cancel()
				awaitNote(t, log, tt.note)
				begun = time.Now()
			}()
			_, err := l.Acquire(ctx, false)
			checkClass(t, "acquire", err, context.Canceled)
			if took := time.Since(begun); took > 2*withdrawTimeout+time.Second {
				t.Errorf("it took %v", took)
			}
			if tt.killed {
				drive.Eventually(t, limit, "the helper is dead", func() bool { return isClosed(l.last().gone) })
			}
		})
	}
}

// TestRenewTimeout checks that a renewal ends with its context, and that the next one
// works.
func TestRenewTimeout(t *testing.T) {
	t.Parallel()
	l := hold(t, "fake://h/?renew=wait", options())
	for range 3 {
		begun := time.Now()
		checkClass(t, "renew", l.Renew(within(t, 30*time.Millisecond)), context.DeadlineExceeded)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v", took)
		}
	}
	checkClass(t, "release", l.Release(t.Context()), nil)
}

// TestTimeLimit checks that the backend knows its time limit.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/?open=limited&acquire=limited&renew=limited&release=limited", options())
	ctx := within(t, limit)
	_, err := l.Acquire(ctx, false)
	checkClass(t, "acquire", err, nil)
	checkClass(t, "renew", l.Renew(ctx), nil)
	checkClass(t, "release", l.Release(ctx), nil)
}

// TestLost checks that a loss between renewals is delivered.
func TestLost(t *testing.T) {
	t.Parallel()
	l := hold(t, "fake://h/?lost=lost", options())
	checkClass(t, "lost", drive.Within(t, limit, l.Lost()), locks.ErrLost)
}

// TestLateLoss: the answer to a renewal that was given up says that the lock is lost.
// Nobody waits for the answer, but the loss must be reported.
func TestLateLoss(t *testing.T) {
	t.Parallel()
	l := hold(t, "late://h/", options())
	ctx := within(t, 30*time.Millisecond)
	checkClass(t, "renew", l.Renew(ctx), context.DeadlineExceeded)
	checkClass(t, "lost", drive.Within(t, limit, l.Lost()), locks.ErrLost)
}

// TestDeath checks that the death of a helper is not a loss while the lock has a lease.
// Without a lease nothing else would ever report the loss.
func TestDeath(t *testing.T) {
	t.Parallel()
	for _, ttl := range []string{"15s", "0s"} {
		t.Run(ttl, func(t *testing.T) {
			t.Parallel()
			l := hold(t, "fake://h/?ttl="+ttl, options())
			l.last().process.kill()
			drive.Eventually(t, limit, "the helper is reaped", func() bool { return isClosed(l.last().gone) })
			err := l.Renew(t.Context())
			checkClass(t, "renew", err, locks.ErrUnavailable)
			if err == nil || errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "leaderrun-fake ended (signal: killed)") {
				t.Errorf("got %v", err)
			}
			checkClass(t, "release", l.Release(t.Context()), locks.ErrUnavailable)
			select {
			case err := <-l.Lost():
				if ttl != "0s" || !errors.Is(err, locks.ErrLost) {
					t.Errorf("with a ttl of %s: lost: %v", ttl, err)
				}
			default:
				if ttl == "0s" {
					t.Error("no loss was reported")
				}
			}
		})
	}
}

// TestReleaseInDoubt checks Release after the death of the helper: there may be something
// to release, or there is certainly nothing.
func TestReleaseInDoubt(t *testing.T) {
	t.Parallel()
	for u, want := range map[string]error{
		"dies-acquire://h/":      locks.ErrUnavailable,
		"dies-hello://h/":        locks.ErrUnavailable, // the acquire may have begun
		"fake://h/?acquire=held": nil,
	} {
		l := start(t, u, options())
		if _, err := l.Acquire(t.Context(), true); err == nil {
			t.Errorf("%s: acquired", u)
		}
		l.last().process.kill()
		<-l.last().gone
		checkClass(t, u+": release", l.Release(t.Context()), want)
	}
}

// TestClosedIsNotLost closes a lock that has no lease.
func TestClosedIsNotLost(t *testing.T) {
	t.Parallel()
	for _, release := range []bool{true, false} {
		l := hold(t, "fake://h/?ttl=0s", options())
		if release {
			checkClass(t, "release", l.Release(t.Context()), nil)
		}
		checkClass(t, "close", l.Close(), nil)
		checkNotLost(t, l)
	}
}

// TestPanic checks that a bug in a backend ends the helper, not the core, and that the
// error shows the first line of the panic.
func TestPanic(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"open", "acquire"} {
		l := start(t, "fake://h/?"+method+"=panic", options())
		_, err := l.Acquire(t.Context(), true)
		checkClass(t, "acquire", err, locks.ErrUnavailable)
		if err == nil || !strings.Contains(err.Error(), "leaderrun-fake ended (exit status 2): panic: the backend broke") {
			t.Errorf("got %v", err)
		}
	}
}

// TestCloseBesides closes a lock while an acquire is pending.
func TestCloseBesides(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	l := start(t, "fake://h"+log+"?acquire=wait", options())
	done := make(chan error)
	go func() { _, err := l.Acquire(t.Context(), false); done <- err }()
	awaitNote(t, log, "acquire")
	checkClass(t, "close", l.Close(), nil)
	if err := drive.Within(t, limit, done); err == nil {
		t.Error("acquired a closed lock")
	}
	// The helper had time to leave the queue.
	checkAsked(t, log, "open\ntry=false\nacquire\nacquire cancelled\n")
}

// TestCloseHanging closes a lock whose helper does not end.
func TestCloseHanging(t *testing.T) {
	t.Parallel()
	l := hold(t, "fake://h/?release=hang", options())
	ctx := within(t, 30*time.Millisecond)
	checkClass(t, "release", l.Release(ctx), context.DeadlineExceeded)
	begun := time.Now()
	checkClass(t, "close", l.Close(), nil)
	if took := time.Since(begun); took < closeTimeout || took > 2*closeTimeout {
		t.Errorf("it took %v", took)
	}
}

// TestCloseReleasesNothing checks that neither Close nor the end of the core is a
// release.
func TestCloseReleasesNothing(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	l := hold(t, "fake://h"+log, options())
	checkClass(t, "close", l.Close(), nil)
	checkAsked(t, log, "open\ntry=true\nacquire\n")
	ctx := within(t, limit)
	if _, err := l.Acquire(ctx, true); err == nil || ctx.Err() != nil {
		t.Errorf("acquire of a closed lock: %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// awaitNote waits until a fake has been asked for something, and reports whether it was.
func awaitNote(t *testing.T, path, what string) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		b, _ := os.ReadFile(path)
		if strings.Contains("\n"+string(b), "\n"+what+"\n") {
			return true
		}
	}
	t.Errorf("the backend was not asked for %q within %v", what, limit)
	return false
}

// TestHeldInTheEnd: the answer that the lock is held comes when the time of the waiter is up. The
// error says both.
func TestHeldInTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	s := newSession("x", locks.Error{Backend: "x://"}, closer{io.Discard})
	p := &pending{session: s, method: s.methods[methodAcquire], waiting: make(chan locks.Waiting, 1), err: &locks.HeldError{}}
	if err := p.outcome(ctx); !errors.Is(err, locks.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
