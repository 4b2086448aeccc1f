package helper

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// held returns a lock that was granted, and the log of its backend.
func held(t *testing.T, query string) (l *Lock, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	l = start(t, "fake://h"+log+"?"+query+"&term=t1", options())
	_, err := l.Acquire(t.Context(), true)
	checkClass(t, "acquire", err, nil)
	return l, log
}

// killed kills the helper, waits until it is gone, and returns its instance.
func killed(t *testing.T, l *Lock) *session {
	t.Helper()
	in := l.last()
	in.process.kill()
	drive.Eventually(t, limit, "the helper is gone", func() bool { return isClosed(in.gone) })
	return in
}

// TestAdopt kills a helper. Another must continue the term, and a process that had the
// input of the first helper must be able to send it a release.
func TestAdopt(t *testing.T) {
	t.Parallel()
	l, log := held(t, "")
	input, words := l.ReleaseMessage()
	first := killed(t, l)
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	checkAsked(t, log, "open\ntry=true\nacquire\nopen\nt1\nadopt\nrenew\n")
	if pid := l.last().process.pid; !l.Keeps(pid) || l.Keeps(first.process.pid) {
		t.Error("Keeps does not know the process that keeps the lock")
	}
	if _, err := input.Write(words); err != nil {
		t.Errorf("write the release: %v", err)
	}
	drive.Eventually(t, limit, "the lock is released", func() bool { return strings.Contains(read(t, log), "\nrelease\n") })
}

// TestHung stops helpers. Another must continue the term, and the wait, of one that does not even
// answer that a renewal was given up, but not of one whose server is slow. A helper that was asked
// to release the lock is left alone.
func TestHung(t *testing.T) {
	t.Parallel()
	stop := func(l *Lock) (in *session) {
		t.Helper()
		in = l.last()
		if err := unix.Kill(in.process.pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		err := l.Renew(within(t, 100*time.Millisecond))
		for err == nil { // it has not stopped yet
			err = l.Renew(within(t, 100*time.Millisecond))
		}
		checkClass(t, "renew", err, context.DeadlineExceeded)
		return in
	}
	slow, asked := held(t, "renew=wait")
	first := slow.last()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { awaitNote(t, asked, "renew"); cancel() }()
	checkClass(t, "renew", slow.Renew(ctx), context.Canceled)

	releasing, _ := held(t, "")
	stop(releasing)
	released := make(chan error, 1)
	go func() { released <- releasing.Release(within(t, withdrawTimeout+closeTimeout)) }()

	waiting, place, err := waits(t, "place=p1")
	stop(waiting)

	l, log := held(t, "")
	hung := stop(l)
	drive.Eventually(t, limit, "another helper continues", func() bool { return l.last() != hung })
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	awaitNote(t, log, "adopt")
	checkClass(t, "acquire", drive.Within(t, limit, err), nil)
	awaitNote(t, place, "go-on")
	if slow.last() != first || isClosed(first.gone) {
		t.Error("a helper that answers was replaced")
	}
	checkClass(t, "release", drive.Within(t, limit, released), context.DeadlineExceeded)
}

// TestLateWrite checks that a session whose helper has ended writes nothing into the pipe, from which
// the next helper reads.
func TestLateWrite(t *testing.T) {
	t.Parallel()
	l, log := held(t, "")
	first := killed(t, l)
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	first.out.write(request{ID: json.RawMessage("99"), Method: methodRelease})
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	checkAsked(t, log, "open\ntry=true\nacquire\nopen\nt1\nadopt\nrenew\nrenew\n")
}

// TestReuse checks that input for one helper is not read by the next.
func TestReuse(t *testing.T) {
	t.Parallel()
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, text := range []string{strings.Repeat("x", 5000), "yes\n"} {
		p = p.reuse()
		if _, err := p.w.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 10)
	if n, err := p.r.Read(got); string(got[:n]) != "yes\n" || err != nil {
		t.Errorf("the next helper reads %q, %v", got[:n], err)
	}
}

// TestAdoptedUnasked checks that a replacement starts before the next renewal asks for
// it.
func TestAdoptedUnasked(t *testing.T) {
	t.Parallel()
	l, _ := held(t, "adopted=lost")
	killed(t, l)
	checkClass(t, "lost", drive.Within(t, limit, l.Lost()), locks.ErrLost)
}

// TestAdoptedForARequest checks that a helper that has continued a term, and done no more, is
// replaced only by the next request.
func TestAdoptedForARequest(t *testing.T) {
	t.Parallel()
	l, log := held(t, "")
	killed(t, l)
	awaitNote(t, log, "adopt")
	if dead := killed(t, l); l.last() != dead {
		t.Error("it was replaced before")
	}
	checkClass(t, "renew", l.Renew(t.Context()), nil)
	checkAsked(t, log, "open\ntry=true\nacquire\nopen\nt1\nadopt\nopen\nt1\nadopt\nrenew\n")
}

// TestReleasedByAnother checks that a replacement can release the lock, and that nobody
// continues then.
func TestReleasedByAnother(t *testing.T) {
	t.Parallel()
	l, log := held(t, "")
	killed(t, l)
	checkClass(t, "release", l.Release(t.Context()), nil)
	checkClass(t, "release again", l.Release(t.Context()), nil)
	last := l.last()
	checkClass(t, "renew", l.Renew(t.Context()), locks.ErrUnavailable)
	if l.last() != last {
		t.Error("another helper was started")
	}
	checkAsked(t, log, "open\ntry=true\nacquire\nopen\nt1\nadopt\nrelease\n")
}

// waits returns a lock whose acquire waits, the log of its backend, and the acquire's error.
func waits(t *testing.T, query string) (l *Lock, log string, done chan error) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	o, waits := options(), make(chan locks.Waiting, 10)
	o.Waiting = func(w locks.Waiting) { waits <- w }
	l = start(t, "fake://h"+log+"?waiting=1&acquire=hang&"+query, o)
	done = make(chan error, 1)
	go func() { _, err := l.Acquire(t.Context(), false); done <- err }()
	drive.Within(t, limit, waits)
	awaitNote(t, log, "acquire")
	return l, log, done
}

// killedWaiting kills the helper of an acquire that waits, and returns the acquire's error.
func killedWaiting(t *testing.T, query string) (log string, err error) {
	t.Helper()
	l, log, done := waits(t, query)
	killed(t, l)
	return log, drive.Within(t, limit, done)
}

// TestResume kills a helper that waits. Another must continue in its place.
func TestResume(t *testing.T) {
	t.Parallel()
	log, err := killedWaiting(t, "place=p1")
	checkClass(t, "acquire", err, nil)
	checkAsked(t, log, "open\ntry=false\nacquire\nopen\np1\nresume\ntry=false\ngo-on\n")
}

// TestPlaceEnds checks that an acquire that was refused leaves no place to continue in.
func TestPlaceEnds(t *testing.T) {
	t.Parallel()
	o := options()
	o.Waiting = func(locks.Waiting) {}
	l := start(t, "fake://h?waiting=1&place=p1&acquire=held", o)
	_, err := l.Acquire(t.Context(), false)
	checkClass(t, "acquire", err, locks.ErrHeld)
	if _, why := killed(t, l).left(); why != nil {
		t.Errorf("there is a place: %v", why)
	}
}

// TestNotResumed checks that an acquire fails if no other helper can continue it, and that a
// helper that cannot work is not restarted over and over.
func TestNotResumed(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]error{
		"place=":                locks.ErrUnavailable,
		"place=p1&resume=usage": locks.ErrUsage,
		"place=p1&resume=panic": locks.ErrUnavailable,
		"place=p1&go-on=lost":   locks.ErrLost,
	} {
		t.Run(fmt.Sprintf("%.30s", query), func(t *testing.T) {
			t.Parallel()
			_, err := killedWaiting(t, query)
			checkClass(t, "acquire", err, want)
		})
	}
}

// TestNotAdopted checks that a lock whose term cannot be continued fails as it would
// without a replacement, and that a helper that cannot work is not restarted over and
// over.
func TestNotAdopted(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]error{
		"adopt=panic": locks.ErrUnavailable,
		"adopt=usage": locks.ErrUsage,
		"ttl=0s":      locks.ErrUnavailable, // the lock was lost with its helper
		"term=":       locks.ErrUnavailable,
	} {
		t.Run(fmt.Sprintf("%.12s", query), func(t *testing.T) {
			t.Parallel()
			l, _ := held(t, query)
			for i := range 3 {
				dead := killed(t, l)
				if dead.process.is(dead.process.pid) {
					t.Error("Keeps accepts the process id of a dead helper, which may by now be the job's")
				}
				if i > 0 && l.last() != dead {
					t.Error("a helper that has done nothing was replaced before the next request")
				}
				checkClass(t, "renew", l.Renew(t.Context()), want)
			}
		})
	}
}
