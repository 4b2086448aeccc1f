package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func TestMain(m *testing.M) { drive.Main(m, "4") }

// elders is a fleet. Each of its members has an IP address of its own, at which the first
// three can be found.
type elders struct {
	*fleet
	port  int
	query string
}

func newElders(t *testing.T, query string) *elders {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return &elders{newFleet(), l.Addr().(*net.TCPAddr).Port, query}
}

// url returns the address of the locks for a member, counted from 1.
func (e *elders) url(member int) *url.URL {
	at := func(i int) string { return fmt.Sprintf("127.2.0.%d:%d", i, e.port) }
	return &url.URL{Scheme: "gossip", Host: strings.Join([]string{at(1), at(2), at(3)}, ","), RawQuery: "bind=" + at(member) + "&" + e.query}
}

// member opens a handle.
func (e *elders) member(t *testing.T, i int, change func(*locks.Options)) locks.Lock {
	t.Helper()
	o := locks.Options{Name: "x", Holder: fmt.Sprint("member ", i), RunID: "r", TTL: 10 * time.Second, ConnectTimeout: 5 * time.Second, Waiting: func(locks.Waiting) {}}
	if change != nil {
		change(&o)
	}
	l, err := e.open(t.Context(), e.url(i), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// campaign lets a handle wait for the lock.
func campaign(t *testing.T, l locks.Lock) <-chan locks.Grant {
	won := make(chan locks.Grant, 1)
	go func() {
		if g, err := l.Acquire(t.Context(), false); err == nil {
			won <- g
		} else if t.Context().Err() == nil {
			t.Error(err)
		}
	}()
	return won
}

// long is how long anything may take on a busy machine.
const long = time.Minute

// isContending waits until a member sees so many contenders.
func isContending(t *testing.T, l locks.Lock, n int) {
	t.Helper()
	drive.Eventually(t, long, "the members contend", func() bool { return len(l.(*Lock).view()) == n })
}

func isHeld(t *testing.T, l locks.Lock, by string) {
	t.Helper()
	_, err := l.Acquire(drive.Context(t), true)
	var held *locks.HeldError
	if !errors.As(err, &held) || held.Status.Holder != by {
		t.Errorf("got %v; want held by %s", err, by)
	}
}

// TestOldest: the oldest member leads, and after it the next one. Tokens rise.
func TestOldest(t *testing.T) {
	t.Parallel()
	e := newElders(t, "min=1")
	a := e.member(t, 1, nil)
	first := drive.Hold(t, a)
	b := e.member(t, 2, nil)
	second := campaign(t, b)
	isContending(t, a, 2)
	leaders := make(chan string, 10)
	c := e.member(t, 3, func(o *locks.Options) { o.Waiting = func(w locks.Waiting) { leaders <- w.Status.Holder } })
	third := campaign(t, c)
	isContending(t, a, 3)
	isHeld(t, e.member(t, 4, nil), "member 1")
	drive.Eventually(t, long, "status", func() bool {
		st := drive.Inspect(t, e.member(t, 5, nil).(locks.Inspector))
		return st.Held && st.Holder == "member 1" && st.Token == first.Token && st.Waiters == 2 &&
			len(st.Details) == 3 && strings.HasSuffix(st.Details[0], "leads: member 1") && strings.HasSuffix(st.Details[2], "waits: member 3")
	})
	drive.Renew(t, a)
	drive.Release(t, a)
	g := drive.Within(t, long, second)
	if g.Token <= first.Token {
		t.Errorf("got token %d after %d", g.Token, first.Token)
	}
	for _, want := range []string{"member 1", "member 2"} {
		if got := drive.Within(t, long, leaders); got != want {
			t.Errorf("waits for %s, want %s", got, want)
		}
	}
	_ = b.Close()
	if h := drive.Within(t, long, third); h.Token <= g.Token {
		t.Errorf("got token %d after %d", h.Token, g.Token)
	}
}

// TestMinimum: who sees too few members does not lead, or no longer.
func TestMinimum(t *testing.T) {
	t.Parallel()
	e := newElders(t, "min=2")
	if _, err := e.member(t, 1, nil).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "too few members are in sight: 1 of min=2") {
		t.Errorf("got %v", err)
	}
	a := e.member(t, 2, nil)
	won := campaign(t, a)
	isContending(t, a, 1)
	b := e.member(t, 3, nil)
	go func() { _, _ = b.Acquire(t.Context(), false) }()
	drive.Within(t, long, won)
	_ = b.Close()
	if err := drive.LossOf(t, a); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "min=2") {
		t.Errorf("got %v", err)
	}
	if err := a.Renew(t.Context()); !errors.Is(err, locks.ErrLost) {
		t.Errorf("renew: got %v; want ErrLost", err)
	}
}

// TestTwoViews is what this mode is: who is cut off leads, too. When the parts meet again,
// the younger leader loses the lock, and the older one, although it was taken for dead,
// does not.
func TestTwoViews(t *testing.T) {
	t.Parallel()
	e := newElders(t, "min=1")
	a := e.member(t, 1, nil)
	drive.Hold(t, a)
	b := e.member(t, 2, nil)
	won := campaign(t, b)
	isContending(t, a, 2)
	heal := e.cut(e.url(1), lockstest.CutAll)
	drive.Within(t, long, won)
	heal()
	if err := drive.LossOf(t, b); !errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v", err)
	}
	drive.Renew(t, a)
	select {
	case err := <-a.Lost():
		t.Errorf("the older one: %v", err)
	default:
	}
}

// TestPriority: with rank=priority, who has a greater one takes the lock over, when its
// holder has stepped down.
func TestPriority(t *testing.T) {
	t.Parallel()
	e := newElders(t, "min=1&rank=priority")
	a, b := e.member(t, 1, nil), e.member(t, 2, func(o *locks.Options) { o.Priority = 1 })
	drive.Hold(t, a)
	tried, contended := make(chan bool), make(chan bool, 1)
	go func() {
		seen := false
		for {
			select {
			case <-tried:
				contended <- seen
				return
			case <-time.After(10 * time.Millisecond):
				seen = seen || len(a.(*Lock).view()) > 1
			}
		}
	}()
	isHeld(t, b, "member 1")
	close(tried)
	if <-contended {
		t.Error("a try contends with who leads")
	}
	won := campaign(t, b)
	if err := drive.LossOf(t, a); !errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v", err)
	}
	select {
	case g := <-won:
		t.Errorf("got %+v while the job of the former leader may live", g)
	case <-time.After(2 * settling):
	}
	_ = a.Release(context.Background())
	drive.Within(t, long, won)
}
