package consul_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// TestSession checks the session's settings: Consul's defaults would end it early, and keep
// everybody out for less than a lease after that.
func TestSession(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	l := handle(t, s.URL(), options("a"))
	drive.Hold(t, l)
	var all []struct {
		TTL, Behavior      string
		LockDelay          time.Duration
		NodeChecks, Checks []string
		ServiceChecks      []any
	}
	if err := json.Unmarshal([]byte(s.Ask(http.MethodGet, "/v1/session/info/"+keyOf(t, s).Session, "")), &all); err != nil {
		t.Fatal(err)
	}
	if got := all[0]; got.TTL != "1m0s" || got.LockDelay != time.Minute || got.Behavior != "release" || len(got.NodeChecks)+len(got.Checks)+len(got.ServiceChecks) != 0 {
		t.Errorf("the session is %+v", got)
	}
}

// TestLeastTTL checks that a short lease becomes as long as the server's session_ttl_min.
func TestLeastTTL(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{HCL: []string{`session_ttl_min = "10s"`}})
	o := options("a")
	o.TTL = 3 * time.Second
	l := handle(t, s.URL(), o)
	if g := drive.Hold(t, l); g.TTL != 10*time.Second {
		t.Errorf("granted %v", g.TTL)
	}
}

// TestLossIsNoticed checks that whatever ends the session or the key, the holder learns of it
// at once, and that a renewal finds out without the watch.
func TestLossIsNoticed(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	unwatched := front(t, s, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("index") {
			<-r.Context().Done()
		}
		return r.Context().Err() != nil
	})
	last := uint64(0)
	for name, end := range map[string]func(path string, k key){
		"session destroyed": func(_ string, k key) { s.Ask(http.MethodPut, "/v1/session/destroy/"+k.Session, "") },
		"node deregistered": func(string, key) { s.Ask(http.MethodPut, "/v1/catalog/deregister", `{"Node": "n1"}`) },
		"key deleted":       func(path string, _ key) { s.Ask(http.MethodDelete, path, "") },
		"key unlocked":      func(path string, k key) { s.Ask(http.MethodPut, path+"?release="+k.Session, "") },
		"key stolen": func(path string, k key) {
			s.Ask(http.MethodPut, path+"?release="+k.Session, "")
			s.Ask(http.MethodPut, path+"?acquire="+newSession(t, s, `{"TTL": "1s", "LockDelay": "0s", "NodeChecks": []}`), "")
		},
	} {
		for _, watched := range []bool{true, false} {
			o := options("a")
			o.Name = fmt.Sprint(strings.ReplaceAll(name, " ", "-"), watched) // after some of these, nobody gets the lock for a while
			addr := s.Addr()
			if !watched {
				addr = unwatched
			}
			l := handle(t, "consul://"+addr, o)
			g := drive.Hold(t, l)
			if g.Token <= last {
				t.Errorf("%s: token %d after %d", name, g.Token, last)
			}
			last = g.Token
			drive.Renew(t, l)
			path := "/v1/kv/leaderrun/" + o.Name
			end(path, keyAt(t, s, path))
			if !watched {
				if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) {
					t.Errorf("%s: renewed: %v", name, err)
				}
			} else if err := drive.LossOf(t, l); !errors.Is(err, locks.ErrLost) {
				t.Errorf("%s: lost: %v", name, err)
			}
			drive.Release(t, l)
			s.Ask(http.MethodPut, "/v1/catalog/register", fmt.Sprintf(`{"Node": %q, "Address": "127.0.0.1"}`, s.Node))
		}
	}
}

// TestEarlyEnd checks that while a holder may trust its lease, nobody gets the lock although
// the server has ended the session, and the holder does not learn of it: its agent is dead.
// Whatever ends well is followed by no delay.
func TestEarlyEnd(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(t *testing.T, s *consultest.Server) (then func()){
		"": func(*testing.T, *consultest.Server) func() { return func() {} },
		// The server begins the delay of an earlier session again as it reads its log, and at the end of
		// that forgets the delay of the holder's.
		"the server forgets its lock delay": func(t *testing.T, s *consultest.Server) func() {
			session := newSession(t, s, `{"LockDelay": "2s", "Behavior": "delete", "NodeChecks": []}`)
			s.Ask(http.MethodPut, keyPath+"?acquire="+session, "")
			s.Ask(http.MethodPut, "/v1/session/destroy/"+session, "")
			return func() { s.Kill(); s.Start(); s.WaitReady() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := consultest.Start(t, consultest.Options{})
			endsEarly(t, s, before(t, s))
		})
	}
}

// endsEarly ends the session of a holder early, after the function then was called.
func endsEarly(t *testing.T, s *consultest.Server, then func()) {
	var dead atomic.Bool
	o := options("a")
	o.TTL = trial.Stretch(8 * time.Second)
	cut := handle(t, "consul://"+front(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		if dead.Load() {
			<-r.Context().Done()
		}
		return dead.Load()
	}), o)
	g, err := cut.Acquire(drive.Context(t), false)
	if err != nil {
		t.Fatal(err)
	}
	then()
	trusted := clock.Boot{}.Now()
	drive.Renew(t, cut)
	dead.Store(true)
	s.Ask(http.MethodPut, "/v1/catalog/deregister", fmt.Sprintf(`{"Node": %q}`, s.Node))
	s.Ask(http.MethodPut, "/v1/catalog/register", fmt.Sprintf(`{"Node": %q, "Address": "127.0.0.1"}`, s.Node))
	next := handle(t, s.URL(), options("b"))
	_, err = next.Acquire(drive.Context(t), true)
	if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Holder != "a" || held.Status.Confirm <= 0 {
		t.Errorf("got %v; want a *HeldError that says why", err)
	}
	if got := drive.Inspect(t, next); !got.Held || got.Token != g.Token || got.Left >= 0 || got.Confirm <= 0 || got.Confirm > o.TTL {
		t.Errorf("inspected %+v", got)
	}
	if _, err := next.Acquire(drive.Context(t), false); err != nil {
		t.Fatal(err)
	}
	if took := (clock.Boot{}).Now().Sub(trusted); took < o.TTL {
		t.Errorf("the next holder has the lock after %v; the former one may trust its lease for %v", took, o.TTL)
	}
	drive.Renew(t, next)

	waits, done := campaign(drive.Context(t), t, s.URL(), options("a waiter"))
	drive.Release(t, waits)
	drive.Within(t, drive.Patience, done)
	drive.Release(t, next)
	if got := drive.Inspect(t, next); got.Details != nil {
		t.Errorf("after a release: %+v", got)
	}
	drive.Hold(t, handle(t, s.URL(), options("c")))
}

// lapse ends the session of a, the holder, whose lease is a second.
func lapse(t *testing.T, s *consultest.Server) {
	t.Helper()
	o := options("a")
	o.TTL = time.Second
	drive.Hold(t, handle(t, s.URL(), o))
	s.Ask(http.MethodPut, "/v1/session/destroy/"+keyOf(t, s).Session, "")
}

// TestLapseEndsUnseen checks that a waiter gets a key after a lapse that ended before it began to watch.
func TestLapseEndsUnseen(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	lapse(t, s)
	o := options("b")
	o.Waiting = func(locks.Waiting) { time.Sleep(1500 * time.Millisecond) }
	ctx, cancel := context.WithCancel(context.Background()) // with a deadline it would look once more before that
	defer cancel()
	_, done := campaign(ctx, t, s.URL(), o)
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Error(r.Err)
	}
}

// TestDelayAfterLapse checks that a refusal by a lock delay that a server has begun later than our watch
// ends neither the watch nor what is said of the former holder.
func TestDelayAfterLapse(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	lapse(t, s)
	var delayed atomic.Bool
	l := handle(t, "consul://"+front(t, s, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/txn" || !delayed.Load() {
			return false
		}
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"Errors": [{"OpIndex": 2, "What": "failed to lock key \"jobs\" due to lock delay until later"}]}`))
		return true
	}), options("b"))
	tries := func() locks.Status {
		_, err := l.Acquire(drive.Context(t), true)
		held, _ := errors.AsType[*locks.HeldError](err)
		if held == nil || held.Status.Holder != "a" || held.Status.Confirm <= 0 {
			t.Fatalf("got %v; want that a may still run", err)
		}
		return held.Status
	}
	time.Sleep(tries().Confirm)
	delayed.Store(true)
	tries()
	delayed.Store(false)
	drive.Hold(t, l)
}

// TestUndoneAcquire checks that a lock whose grant nobody has learned of is given up, and that
// no delay follows.
func TestUndoneAcquire(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	var granted atomic.Bool
	ctx, cancel := context.WithCancel(drive.Context(t))
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Addr()})
	addr := front(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/txn" || granted.Load() {
			return false
		}
		pass.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.Background()))
		granted.Store(true)
		cancel()
		<-r.Context().Done()
		return true
	})
	if _, err := handle(t, "consul://"+addr, options("a")).Acquire(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !granted.Load() {
		t.Error("nothing was granted")
	}
	drive.Hold(t, handle(t, s.URL(), options("b")))
}

// TestForeignKey checks that a key of somebody else is not changed, whether or not it is
// locked, and that the error says which.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	s.Ask(http.MethodPut, keyPath, "host=db1")
	l := handle(t, s.URL(), options("a"))
	before := keyOf(t, s)
	for name, call := range map[string]func() error{
		"try":     func() error { _, err := l.Acquire(drive.Context(t), true); return err },
		"acquire": func() error { _, err := l.Acquire(drive.Context(t), false); return err },
		"forget":  func() error { return l.Forget(drive.Context(t)) },
	} {
		if err := call(); !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "the key leaderrun/jobs=2Fnightly was not made by leaderrun; nothing of it was changed") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := keyOf(t, s); got != before {
		t.Errorf("the key was %+v, and is %+v", before, got)
	}
	s.Ask(http.MethodPut, keyPath+"?acquire="+newSession(t, s, `{"NodeChecks": []}`), "locked")
	if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("locked by another program: got %v", err)
	}
	if got := s.Ask(http.MethodGet, keyPath+"?raw", ""); got != "locked" {
		t.Errorf("the key is %q now", got)
	}
}

// TestKeyOfAnother checks that a key which somebody writes after we have seen that there is
// none is not overwritten.
func TestKeyOfAnother(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	l := handle(t, "consul://"+front(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/txn" {
			s.Ask(http.MethodPut, keyPath, "host=db1")
		}
		return false
	}), options("a"))
	if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("got %v", err)
	}
	if got := s.Ask(http.MethodGet, keyPath+"?raw", ""); got != "host=db1" {
		t.Errorf("the key is %q now", got)
	}
}

// TestOneConnection checks that renewals need no new connections.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	var mu sync.Mutex
	from := map[string]bool{}
	l := handle(t, "consul://"+front(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		from[r.RemoteAddr] = true
		return false
	}), options("a"))
	drive.Hold(t, l)
	for range 5 {
		drive.Renew(t, l)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) > 4 {
		t.Errorf("%d connections; the documents say up to four", len(from))
	}
}

// TestNewLeaderHasNotReadItsLog checks that a renewal and a release believe only after a
// consistent read that a session does not exist.
func TestNewLeaderHasNotReadItsLog(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	var behind atomic.Bool
	addr := front(t, s, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case !behind.Load():
		case strings.HasPrefix(r.URL.Path, "/v1/session/renew/"):
			w.WriteHeader(http.StatusNotFound)
			return true
		case strings.HasPrefix(r.URL.Path, "/v1/session/destroy/"):
			behind.Store(false)
			fmt.Fprint(w, "true")
			return true
		}
		return false
	})
	l := handle(t, "consul://"+addr, options("a"))
	drive.Hold(t, l)
	behind.Store(true)
	if err := l.Renew(drive.Context(t)); err == nil || errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v; want an error that passes", err)
	}
	drive.Release(t, l)
	drive.Hold(t, handle(t, s.URL(), options("b")))
}

// TestReleaseUnconfirmed checks that a release that the server has answered succeeds although the
// read that would confirm it has no answer.
func TestReleaseUnconfirmed(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	addr := front(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		silent := strings.HasPrefix(r.URL.Path, "/v1/session/info/")
		if silent {
			<-r.Context().Done()
		}
		return silent
	})
	l := handle(t, "consul://"+addr, options("a"))
	drive.Hold(t, l)
	drive.Release(t, l)
	drive.Hold(t, handle(t, s.URL(), options("b")))
}

// TestLockDelay checks that a waiter gets a key that another program's session has left, once
// its lock delay is over. The server does not report when that is.
func TestLockDelay(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	session := newSession(t, s, `{"LockDelay": "2s", "Behavior": "delete", "NodeChecks": []}`)
	s.Ask(http.MethodPut, keyPath+"?acquire="+session, "")
	ctx, cancel := context.WithCancel(drive.Context(t))
	defer cancel()
	o := options("a")
	o.TTL = 10 * time.Second // a waiter looks again after a fifteenth of it
	_, done := campaign(ctx, t, s.URL(), o)
	begun := time.Now()
	s.Ask(http.MethodPut, "/v1/session/destroy/"+session, "")
	if _, err := handle(t, s.URL(), options("b")).Acquire(ctx, true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %v; want ErrHeld", err)
	}
	tried := time.Now()
	if r := drive.Within(t, drive.Patience, done); r.Err != nil || r.At.Sub(begun) < time.Second || r.At.Before(tried) {
		t.Errorf("got %+v after %v; the answer to another took %v", r, r.At.Sub(begun), tried.Sub(begun))
	}
}

// TestRecordLeavesTheToken checks that neither record nor request changes the lock's index.
func TestRecordLeavesTheToken(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	l := handle(t, s.URL(), options("a"))
	g := drive.Hold(t, l)
	if err := l.SetRecord(drive.Context(t), []byte("x")); err != nil {
		t.Fatal(err)
	}
	drive.Ask(t, l, g.Token, "resign")
	drive.IsAsked(t, l, "resign")
	request := func() string { return s.Ask(http.MethodGet, keyPath+"=ask", "") }
	drive.Eventually(t, drive.Patience, "a request that was received is deleted", func() bool { return request() == "" })
	drive.Ask(t, l, g.Token-1, "resign") // which could overwrite one to the holder
	if got := request(); got != "" {
		t.Errorf("a request to an earlier holder was written: %s", got)
	}
	drive.Renew(t, l)
	if got := drive.Inspect(t, l).Token; got != g.Token || keyOf(t, s).ModifyIndex != g.Token {
		t.Errorf("granted %d, and now it is %d", g.Token, got)
	}
}

// TestLateRequest checks that a request to lock the key that arrives after its repetition
// changes nothing, and that after the release it locks nothing.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	var late atomic.Pointer[[]byte]
	addr := front(t, s, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/txn" || late.Load() != nil {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		late.Store(&body)
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	l := handle(t, "consul://"+addr, options("a"))
	g := drive.Hold(t, l)
	s.Ask(http.MethodPut, "/v1/txn", string(*late.Load()))
	if got := keyOf(t, s).ModifyIndex; got != g.Token {
		t.Errorf("granted %d, and now it is %d", g.Token, got)
	}
	drive.Release(t, l)
	if got := s.Ask(http.MethodPut, "/v1/txn", string(*late.Load())); !strings.Contains(got, "invalid session") {
		t.Errorf("after the release: %s", got)
	}
}

// TestReadsAreConsistent checks that each read asks for the consistent mode.
func TestReadsAreConsistent(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	var reads atomic.Int64
	l := handle(t, "consul://"+front(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.URL.Path == "/v1/txn" {
			reads.Add(1)
			if !r.URL.Query().Has("consistent") {
				t.Errorf("%s is not consistent", r.URL)
			}
		}
		return false
	}), options("a"))
	g := drive.Hold(t, l)
	drive.Renew(t, l)
	changes := drive.Watch(t, l, true)
	drive.Ask(t, l, g.Token, "resign")
	drive.IsAsked(t, l, "resign")
	drive.Within(t, drive.Patience, changes)
	drive.List(t, l)
	drive.Inspect(t, l)
	drive.Release(t, l)
	if reads.Load() < 8 {
		t.Errorf("only %d reads", reads.Load())
	}
}

// TestRequestToALaterHolder checks that a holder that does not know yet that it has lost the
// lock does not delete a request to the next one.
func TestRequestToALaterHolder(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	var seen atomic.Int64 // the greatest index from which the holder waits
	l := handle(t, "consul://"+front(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "=ask") {
			index, _ := strconv.ParseInt(r.URL.Query().Get("index"), 10, 64)
			seen.Store(max(seen.Load(), index))
		}
		return false
	}), options("a"))
	g := drive.Hold(t, l)
	s.Ask(http.MethodPut, keyPath+"=ask", fmt.Sprintf(`{"token": %d, "text": "resign"}`, g.Token+1000))
	drive.Eventually(t, drive.Patience, "the holder has seen the request", func() bool { return seen.Load() > int64(g.Token) })
	if got := s.Ask(http.MethodGet, keyPath+"=ask?raw", ""); !strings.Contains(got, "resign") {
		t.Errorf("a request to a later holder is gone: %q", got)
	}
}

// TestConsulLockFlags checks that we do not lock a key that `consul lock` would refuse.
func TestConsulLockFlags(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	s.Ask(http.MethodPut, "/v1/kv/jobs/nightly/.lock?flags=1", "semaphore")
	_, err := handle(t, s.URL()+"?compat=consul-lock", options("a")).Acquire(drive.Context(t), false)
	if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "its flags are 0x1") {
		t.Errorf("got %v", err)
	}
	if got := s.Ask(http.MethodGet, "/v1/kv/jobs/nightly/.lock?raw", ""); got != "semaphore" {
		t.Errorf("the key is %q now", got)
	}
}

// TestCluster checks that a lease survives the leader of the servers, and that waiters get
// the lock after that.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := consultest.StartCluster(t, 3, consultest.Options{})
	leader := c.Leader()
	follower := c[slices.IndexFunc(c, func(s *consultest.Server) bool { return s != leader })]
	l := handle(t, follower.URL(), options("a"))
	g := drive.Hold(t, l)
	w, done := campaign(drive.Context(t), t, follower.URL(), options("b"))
	leader.Kill()
	for _, k := range []locks.Lock{l, w} {
		drive.Eventually(t, drive.Patience, "the lease can be renewed", func() bool {
			err := k.Renew(drive.Context(t))
			if errors.Is(err, locks.ErrLost) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	drive.Release(t, l)
	r := drive.Within(t, drive.Patience, done)
	if r.Err != nil || r.Grant.Token <= g.Token {
		t.Errorf("got %+v after %d", r, g.Token)
	}
	drive.Release(t, w)
}

// finding returns what a probe has found in one check.
func finding(t testing.TB, l locks.Lock, check string) locks.Finding {
	t.Helper()
	s, err := l.(locks.Prober).Probe(drive.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Findings {
		if f.Check == check {
			return f
		}
	}
	return locks.Finding{}
}
