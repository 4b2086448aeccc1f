//go:build amd64 || arm64

package guard

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// pollable returns an inbox, leaderrun's end of the line, and what says that a child has ended.
func pollable(t *testing.T) (p *polled, leaderrun *os.File, child *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	if p, err = newPolled(fds[0], ends[0]); err != nil {
		t.Fatal(err)
	}
	leaderrun, child = os.NewFile(uintptr(fds[1]), ""), os.NewFile(uintptr(ends[1]), "")
	t.Cleanup(func() {
		_ = leaderrun.Close()
		_ = child.Close()
		for _, fd := range []int{p.socket, p.children, p.timer} {
			_ = unix.Close(fd)
		}
	})
	return p, leaderrun, child
}

func write(t *testing.T, to *os.File, b []byte) {
	t.Helper()
	if _, err := to.Write(b); err != nil {
		t.Fatal(err)
	}
}

// Of orders, children that end and a moment that comes, none keeps the others waiting.
func TestPolledFairly(t *testing.T) {
	t.Parallel()
	p, leaderrun, child := pollable(t)
	seen := map[arrival]int{}
	for range 100 {
		write(t, leaderrun, frame{kind: kindKill}.encode())
		write(t, child, make([]byte, 100))
		e, _ := p.next(clock.Boot{}.Now())
		seen[e]++
	}
	for _, e := range []arrival{ordered, childEnded, moment} {
		if seen[e] < 5 {
			t.Errorf("%v: not every kind often", seen)
		}
	}
}

// All orders come before the end of the line, which comes once.
func TestPolledHangUp(t *testing.T) {
	t.Parallel()
	p, leaderrun, _ := pollable(t)
	if e, _ := p.order(); e != nothing {
		t.Errorf("got %v before any order", e)
	}
	whole := append(number(kindDeadline, 7).encode(), frame{kind: kindKill}.encode()...)
	write(t, leaderrun, whole[:3])
	if e, _ := p.order(); e != nothing {
		t.Errorf("got %v of a part of an order", e)
	}
	write(t, leaderrun, whole[3:])
	_ = leaderrun.Close()
	for _, want := range []byte{kindDeadline, kindKill} {
		if e, f := p.next(clock.Never); e != ordered || f.kind != want {
			t.Errorf("got %v, %q, want an order %q", e, f.kind, want)
		}
	}
	if e, _ := p.next(clock.Never); e != hungUp {
		t.Errorf("got %v, want the end", e)
	}
	if e, _ := p.order(); e != nothing {
		t.Errorf("got %v after the end", e)
	}
	soon := clock.Boot{}.Now().Add(10 * time.Millisecond)
	if e, _ := p.next(soon); e != moment {
		t.Errorf("got %v, want the moment", e)
	}
}

// A line on which something else than a frame arrives has ended.
func TestPolledNonsense(t *testing.T) {
	t.Parallel()
	p, leaderrun, _ := pollable(t)
	write(t, leaderrun, []byte("fatal error: all is lost"))
	if e, _ := p.next(clock.Never); e != hungUp {
		t.Errorf("got %v, want the end", e)
	}
	if e, _ := p.order(); e != nothing {
		t.Errorf("got %v after the end", e)
	}
}

// The moment comes in time, after some looks at the clock, also if it was a later one before.
func TestPolledMoment(t *testing.T) {
	t.Parallel()
	p, leaderrun, _ := pollable(t)
	write(t, leaderrun, frame{kind: kindKill}.encode())
	if e, _ := p.next(clock.Boot{}.Now().Add(time.Hour)); e != ordered {
		t.Fatalf("got %v", e)
	}
	at, looks := clock.Boot{}.Now().Add(700*time.Millisecond), 0
	for ; (clock.Boot{}).Now() < at; looks++ {
		if e, _ := p.next(at); e != moment {
			t.Fatalf("got %v", e)
		}
	}
	if late := (clock.Boot{}).Now().Sub(at); late > 10*time.Second || looks < 2 || looks > 10 {
		t.Errorf("%v late, after %d looks", late, looks)
	}
	write(t, leaderrun, frame{kind: kindKill}.encode())
	if e, _ := p.next(clock.Never); e != ordered {
		t.Errorf("got %v after the last moment", e)
	}
}
