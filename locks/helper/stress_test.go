package helper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestFlood checks that 100 MB on standard error block nothing.
func TestFlood(t *testing.T) {
	t.Parallel()
	r := &records{}
	o := options()
	o.Logger = r.logger()
	begun := time.Now()
	l := start(t, "flood://h/", o)
	if _, err := l.Acquire(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	t.Logf("100 MB took %v", took)
	checkClass(t, "close", l.Close(), nil)
	if got, most := r.count(), (int(took/time.Second)+2)*(maxLogRate+1); got > most {
		t.Errorf("%d records in %v; want at most %d", got, took, most)
	}
	if last := r.last(); !strings.Contains(last, "dropped lines") {
		t.Errorf("the last record is %q", last)
	}
}

// TestKillDuringFlood checks that neither a flood nor a blocked log delays a call or a
// kill.
func TestKillDuringFlood(t *testing.T) {
	t.Parallel()
	for _, stuck := range []bool{false, true} {
		r := &records{}
		if stuck {
			r.block = make(chan struct{})
		}
		o := options()
		o.Logger = r.logger()
		l := hold(t, "floods-on://h/", o)
		checkClass(t, "renew", l.Renew(within(t, 100*time.Millisecond)), context.DeadlineExceeded)
		begun := time.Now()
		l.last().process.kill()
		<-l.last().process.exited
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the kill took %v", took)
		}
		err := l.Renew(t.Context()) // this call may be the first to wait for the end
		checkClass(t, "renew", err, locks.ErrUnavailable)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("the helper's death was noticed after %v", took)
		}
		if stuck {
			close(r.block)
		}
	}
}

// TestChatty checks that a report that nobody has received is replaced by the next.
func TestChatty(t *testing.T) {
	t.Parallel()
	reports, last := 0, 0
	o := options()
	o.Waiting = func(w locks.Waiting) {
		time.Sleep(time.Millisecond)
		reports, last = reports+1, w.Position
	}
	l := start(t, "chatty://h/", o)
	if _, err := l.Acquire(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if last != 1 || reports > 50_000 {
		t.Errorf("%d reports, at last of position %d", reports, last)
	}
}

// TestStopped checks that a stopped helper delays no call beyond its context, and is
// ended like any other.
func TestStopped(t *testing.T) {
	t.Parallel()
	l := hold(t, "stops://h/", options())
	for range 3 {
		begun := time.Now()
		checkClass(t, "renew", l.Renew(within(t, 50*time.Millisecond)), context.DeadlineExceeded)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v", took)
		}
	}
}

// TestSilent checks that unanswered requests do not accumulate.
func TestSilent(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"silent", "stops"} {
		l := hold(t, role+"://h/", options())
		var err error
		for n := 0; n < 4*maxPending || errors.Is(err, context.DeadlineExceeded) && n < 400*maxPending; n++ {
			err = l.Renew(within(t, time.Millisecond)) // on a busy machine it may be over before it is sent
		}
		checkClass(t, "renew", err, locks.ErrUnavailable)
		if err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("got %v", err)
		}
	}
}

// TestUnread checks that the smallest pipe there is has room for what is written to a
// helper that does not read.
func TestUnread(t *testing.T) {
	t.Parallel()
	var wrote counter
	s := newSession("fake", locks.Error{}, &wrote)
	ctx := within(t, 24*time.Hour)
	s.last = 1 << 40 // ids longer than any real one
	for range 100 * maxPending {
		if p, err := s.send(ctx, request{Method: methodRenew}); err == nil {
			s.giveUp(p)
		}
	}
	if wrote > 2<<10 { // of 4 KiB; open needs some as well
		t.Errorf("%d bytes are in the pipe", wrote)
	}
}

type counter int

func (c *counter) Write(line []byte) (int, error) { *c += counter(len(line)); return len(line), nil }
func (c *counter) Close() error                   { return nil }

// TestHandshakeIsBounded checks that it is, even if nobody calls Acquire.
func TestHandshakeIsBounded(t *testing.T) {
	t.Parallel()
	o := options()
	o.ConnectTimeout = 50 * time.Millisecond
	l := start(t, "mute://h/", o)
	drive.Eventually(t, limit, "it is killed", func() bool { return isClosed(l.last().gone) })
	if _, err := l.Acquire(t.Context(), false); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
