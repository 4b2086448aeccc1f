package metrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// get makes a request, as a client does.
func (r *rig) get(method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	newServer(r.state, r.registry).Handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func (r *rig) health(want int) {
	r.t.Helper()
	if got := r.get("GET", "/healthz").Code; got != want {
		r.t.Errorf("/healthz answers %d, want %d", got, want)
	}
}

// A run that waits or leads is healthy while leaderrun is alive.
func TestHealth(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.health(200)
	r.pass(feed.AliveLimit - time.Second)
	r.health(200)
	r.pass(time.Second)
	r.health(503)
	r.learn(feed.Line{At: r.time.Now(), Alive: true})
	r.health(200)
	r.tell(event.Event{Kind: event.Acquired, TTLMS: 5000})
	r.pass(4 * time.Second)
	r.health(200)
	r.pass(time.Second)
	r.health(503) // the lease has ended before the silence counts
}

// TestHealthWhenStuck: a run whose loop is stuck is unhealthy, even if its lease is being renewed,
// because it could not end the job.
func TestHealthWhenStuck(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.acquired()
	r.learn(feed.Line{At: r.time.Now(), Alive: true})
	r.pass(feed.AliveLimit - time.Second)
	r.renewed(time.Second)
	r.kinds(event.RenewFailed)
	r.learn(feed.Line{At: r.time.Now(), Waiting: &feed.Waiting{}})
	r.health(200)
	r.pass(time.Second)
	r.health(503)
	r.is(1, "is_leader")
}

// TestHealthAfterALoss: after a loss, a run is unhealthy while its job may run, and healthy
// again when nothing of the job is left, even before the next campaign.
func TestHealthAfterALoss(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.acquired()
	r.kinds(event.Started)
	r.pass(16 * time.Second)
	r.tell(event.Event{Kind: event.Lost, Class: "expired"})
	r.exited(137)
	r.learn(feed.Line{At: r.time.Now(), Alive: true})
	r.health(503)
	r.tell(event.Event{Kind: event.Started, Hook: "lost"})
	r.health(200)
}

// Kubernetes' leader-elector answers with the name; we add more.
func TestLeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	answer := func() (l leader) {
		w := r.get("GET", "/leader")
		if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %v", w.Body, err)
		}
		return l
	}
	if got := r.get("GET", "/leader").Body.String(); got != `{"name":"","lock":"nightly","is_leader":false,"id":"host/1/a","holder":""}`+"\n" {
		t.Errorf("got %s", got)
	}
	r.learn(feed.Line{At: r.time.Now(), Waiting: &feed.Waiting{Holder: "bob\x1b", Position: 3}})
	if l := answer(); l.Name != `bob\x1b` || l.IsLeader || l.Position != 3 || l.Deadline != nil {
		t.Errorf("got %+v", l)
	}
	r.acquired()
	r.pass(5 * time.Second)
	l := answer()
	if l.Name != "host/1/a" || !l.IsLeader || l.Token != 7 || l.Position != 0 || *l.LeftMS != 10000 {
		t.Errorf("got %+v", l)
	}
	if d := time.Until(*l.Deadline); d < 5*time.Second || d > 11*time.Second {
		t.Errorf("the deadline is in %v, want 10s", d)
	}
	r.pass(10 * time.Second)
	if l := answer(); l.Name != "" || l.IsLeader {
		t.Errorf("after the lease: %+v", l)
	}
}

// No other path exists, and nothing can be changed.
func TestPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/metrics", 200}, {"HEAD", "/metrics", 200}, {"POST", "/metrics", 405}, {"PUT", "/leader", 405},
		{"GET", "/", 404}, {"GET", "/debug/pprof/", 404}, {"GET", "/metrics/", 404}, {"GET", "/healthz?verbose", 200},
	} {
		if got := r.get(tt.method, tt.path).Code; got != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, got, tt.want)
		}
	}
	if body := r.get("GET", "/metrics").Body.String(); !strings.Contains(body, `leaderrun_is_leader{lock="nightly"} 0`) {
		t.Errorf("got %s", body)
	}
}

// The server does not wait for a client that stalls.
func TestServerHasLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	s := newServer(r.state, r.registry)
	for name, limit := range map[string]time.Duration{
		"header": s.ReadHeaderTimeout, "read": s.ReadTimeout, "write": s.WriteTimeout, "idle": s.IdleTimeout,
	} {
		if limit <= 0 || limit > time.Minute {
			t.Errorf("the %s timeout is %v", name, limit)
		}
	}
	if s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > http.DefaultMaxHeaderBytes {
		t.Errorf("headers may have %d bytes", s.MaxHeaderBytes)
	}
}

// TestIsLeader: a probe learns by the status alone who leads, and what the holder publishes.
func TestIsLeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{Advertise: "10.0.0.7:8080"})
	if code := r.get("GET", "/is-leader").Code; code != http.StatusServiceUnavailable {
		t.Errorf("before the term: %d", code)
	}
	r.learn(feed.Line{At: r.time.Now(), Waiting: &feed.Waiting{Holder: "bob", Advertise: "bob:80"}})
	if got := r.get("GET", "/leader").Body.String(); !strings.Contains(got, `"holder":"bob","advertise":"bob:80"`) {
		t.Errorf("got %s", got)
	}
	r.acquired()
	if code := r.get("GET", "/is-leader").Code; code != http.StatusOK {
		t.Errorf("in the term: %d", code)
	}
	if got := r.get("GET", "/leader").Body.String(); !strings.Contains(got, `"advertise":"10.0.0.7:8080"`) {
		t.Errorf("got %s", got)
	}
}
