package zookeeper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// TestLeaderChange kills the ensemble's leader, and starts it again, while there are a
// holder, a waiter and a watch. Records and requests survive.
func TestLeaderChange(t *testing.T) {
	t.Parallel()
	e := zktest.StartEnsemble(t, 3, zktest.Options{})
	o := options("holder")
	o.TTL = 20 * time.Second
	a, w := handle(t, e.URL()+"/p", o), handle(t, e.URL()+"/p", options("w"))
	g := drive.Hold(t, a)
	write(t, a)
	drive.Ask(t, w, g.Token, "before")
	drive.IsAsked(t, a, "before")
	changes := drive.Watch(t, w, false)
	o.Holder = "waiter"
	b, done := campaign(drive.Context(t), t, e.URL()+"/p", o)
	leader := e.Leader()
	leader.Kill()
	keepRenewing(t, a, b)
	select {
	case r := <-done:
		t.Fatalf("the waiter's Acquire has ended: %+v, %v", r.Grant, r.Err)
	default:
	}
	drive.Ask(t, w, g.Token, "after")
	drive.IsAsked(t, a, "after")
	recordIs(t, w, "b's")
	write(t, a)
	leader.Process.Start()
	drive.Release(t, a)
	r := awaitRenewing(t, b, done)
	if r.Err != nil || r.Grant.Token <= g.Token {
		t.Fatalf("the waiter got %+v, %v; the holder had the token %d", r.Grant, r.Err, g.Token)
	}
	drive.Changed(t, changes, "the waiter leads", func() bool { s, err := w.Inspect(drive.Context(t)); return err == nil && s.Holder == "waiter" })
	drive.Release(t, b)
	c := open(t, e.URL()+"/p", o)
	if next := drive.Hold(t, c); next.Token <= r.Grant.Token {
		t.Errorf("token %d after %d", next.Token, r.Grant.Token)
	}
	drive.Release(t, c)
}

// keepRenewing renews until all have succeeded in one round.
func keepRenewing(t testing.TB, all ...locks.Lock) {
	t.Helper()
	drive.Eventually(t, drive.Patience, "renewals succeed", func() bool {
		for _, l := range all {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			err := l.Renew(ctx)
			cancel()
			if errors.Is(err, locks.ErrLost) {
				t.Fatalf("renew: %v", err)
			}
			if err != nil {
				return false
			}
		}
		return true
	})
}

// awaitRenewing waits for the end of a campaign, and renews meanwhile.
func awaitRenewing(t *testing.T, l locks.Lock, done <-chan drive.Result) drive.Result {
	t.Helper()
	for end := time.Now().Add(drive.Patience); time.Now().Before(end); {
		select {
		case r := <-done:
			return r
		case <-time.After(time.Second):
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			_ = l.Renew(ctx)
			cancel()
		}
	}
	t.Fatal("the campaign has not ended")
	return drive.Result{}
}

// TestOneMemberFails checks that a dead or silent member makes at most one renewal fail,
// unless it leads.
func TestOneMemberFails(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, scale int) {
		e := zktest.StartEnsemble(t, 3, zktest.Options{})
		o := options("a")
		o.TTL *= time.Duration(scale)
		l := open(t, e.URL()+"/p", o)
		drive.Hold(t, l)
		for i, s := range e {
			leader := e.Leader()
			name := []string{"kill", "pause", "pause"}[i]
			if name == "kill" {
				s.Kill()
			} else {
				s.Pause()
			}
			failures := 0
			for range 4 {
				ctx, cancel := context.WithTimeout(context.Background(), o.TTL/4)
				if err := l.Renew(ctx); err != nil {
					failures++
					t.Logf("%s of member %d: %v", name, i, err)
				}
				cancel()
			}
			if s != leader && failures > 1 {
				t.Errorf("%s of member %d cost %d renewals", name, i, failures)
			}
			if name == "kill" {
				s.Start()
			} else {
				s.Resume()
			}
			keepRenewing(t, l)
		}
		drive.Release(t, l)
	})
}

// TestNoPromiseWithoutQuorum checks that the answer of a leader that has lost its followers
// does not count. Such a leader still answers for a while.
func TestNoPromiseWithoutQuorum(t *testing.T) {
	t.Parallel()
	e := zktest.StartEnsemble(t, 3, zktest.Options{Tick: time.Second}) // the leader notices the loss after ten ticks
	leader := e.Leader()
	l := open(t, leader.URL()+"/p", options("a"))
	drive.Hold(t, l)
	drive.Renew(t, l)
	for _, s := range e {
		if s != leader {
			s.Pause()
			defer s.Resume()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := l.Renew(ctx); err == nil || errors.Is(err, locks.ErrLost) {
		t.Errorf("renewed without a quorum: %v", err)
	}
	if mode := leader.Ask("srvr"); mode == "" {
		t.Error("the leader does not answer: this tests nothing")
	}
	for _, s := range e {
		if s != leader {
			s.Resume()
		}
	}
	keepRenewing(t, l)
	drive.Release(t, l)
}

// TestPromiseThroughFollower freezes a follower as soon as a renewal through it has
// succeeded, so that it reports nothing more of the session to its leader. The session must
// still last for its full timeout.
func TestPromiseThroughFollower(t *testing.T) {
	t.Parallel()
	const tick = 500 * time.Millisecond // the server rounds up to a tick
	e := zktest.StartEnsemble(t, 3, zktest.Options{Tick: tick})
	follower := e.Follower()
	o := options("a")
	o.TTL = 8 * time.Second
	p := faultproxy.New(t, follower.Addr())
	l := open(t, "zk://"+p.Addr()+"/p", o)
	g := drive.Hold(t, l)
	other := e.Leader()
	b, done := campaign(drive.Context(t), t, other.URL()+"/p", func() locks.Options { o := options("b"); o.TTL = time.Minute; return o }())
	drive.Renew(t, l)
	// Time has to pass: the leader's last report of the session becomes old. But the
	// library must not yet break the connection, which it does after 2/3 of a TTL, even if
	// the machine is busy. Its last ping was after 1/3.
	time.Sleep(g.TTL * 7 / 12)
	sent := time.Now()
	drive.Renew(t, l)
	follower.Pause()
	defer follower.Resume()
	r := drive.Within(t, drive.Patience, done)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if lasted := r.At.Sub(sent); lasted < g.TTL {
		t.Errorf("the session ended %v after it was renewed for %v", lasted, g.TTL)
	} else {
		t.Logf("the session of %v ended %v after its renewal", g.TTL, lasted)
	}
	drive.Release(t, b)
}

// testSilentServer checks that a silent address makes no renewal fail, however long an
// attempt to connect may take.
func testSilentServer(t *testing.T, s *root) {
	proxies := []*faultproxy.Proxy{faultproxy.New(t, s.Addr()), faultproxy.New(t, s.Addr())}
	o := options("a")
	o.ConnectTimeout = 20 * time.Second
	l := open(t, s.through(proxies[0].Addr()+","+proxies[1].Addr())+"/p", o)
	drive.Hold(t, l)
	for range 3 {
		drive.Renew(t, l)
		drive.Eventually(t, drive.Patience, "the old connection is closed", func() bool { return proxies[0].Open()+proxies[1].Open() == 1 })
		for _, p := range proxies {
			if p.Open() > 0 {
				p.CutAll()
			}
		}
		renewSoon(t, l)
		for _, p := range proxies {
			p.Heal()
		}
	}
	drive.Release(t, l)
}

// testSilentRelease checks that a release whose connection falls silent is repeated over another,
// also if there is only one address.
func testSilentRelease(t *testing.T, s *root) {
	p := faultproxy.New(t, s.Addr())
	o := options("a")
	o.ConnectTimeout = drive.Patience
	l := open(t, s.through(p.Addr())+"/p", o)
	drive.Hold(t, l)
	before := p.Accepted()
	p.CutAll()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	released := make(chan error, 1)
	go func() { released <- l.Release(ctx) }()
	drive.Eventually(t, drive.Patience, "a connection for the release", func() bool { return p.Accepted() > before && p.Open() > 0 })
	p.Silence()
	p.Heal()
	if err := <-released; err != nil {
		t.Errorf("release: %v", err)
	}
	drive.Hold(t, open(t, s.URL()+"/p", options("b")))
}

func renewSoon(t *testing.T, l locks.Lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second) // less than an attempt to connect may take
	defer cancel()
	if err := l.Renew(ctx); err != nil {
		t.Fatalf("renew through the other address: %v", err)
	}
}
