//go:build unix

package runner

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// The timing of most tests, which is that of leaderrun by default: R 3 s, A 2 s,
// G 5 s, J and X 1 s.
const ttl = 15 * time.Second

// A rig is a Run in a world of its own.
type rig struct {
	*world
	server *server
	job    *job   // the one that was started last, or will be first
	jobs   []*job // all of them

	c       Config
	signals chan os.Signal

	acquire   []acquisition     // what becomes of each attempt; the last of them of all that follow
	renew     func(n int) reply // what becomes of the n-th Renew, from 1
	release   reply
	lost      chan error
	asked     chan []byte
	shelf     shelf
	starts    func(*job, proc.Command) // called before each start; may be nil
	permanent bool
	secrets   []string
	queue     map[int][]locks.Place // who else waits when the n-th attempt has the lock
	outlived  bool                  // the oracle may be violated: physics says so
	happened  func(event.Event)

	mu       sync.Mutex
	opened   int // locks
	closed   int
	renewals int
	events   []event.Event
	log      []slog.Record
	answer   func() socket.Answer
}

// bubble runs a test in a world of its own. Whatever is left running in it at
// its end fails the test.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

// bubbleIn is bubble for one of several cases of a test.
func bubbleIn(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

// often runs a test many times, as a select is free to choose.
func often(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
	}
}

func newRig(t *testing.T) *rig {
	w := newWorld(t)
	r := &rig{
		world:   w,
		server:  &server{w: w, ttl: ttl},
		signals: make(chan os.Signal, 64),
		acquire: []acquisition{granted},
		renew:   func(int) reply { return reply{} },
		lost:    make(chan error, 1),
		asked:   make(chan []byte, 1),
	}
	r.job = newJob(r)
	r.c = Config{
		Command:        proc.Command{Path: "/bin/job", Args: []string{"job"}, Env: []string{"HOME=/"}},
		Lock:           "nightly",
		Backend:        "model://server",
		Holder:         "host/1/a",
		Open:           r.open,
		ConnectTimeout: 5 * time.Second,
		Timing:         timing.New(ttl, -1),
		Signal:         syscall.SIGTERM,
		Signals:        r.signals,
		Starter:        r.starter,
		Clock:          w,
		Logger:         slog.New(recorder{r}),
		Events:         r.event,
		Serve:          r.serve,
	}
	return r
}

// serve stands in for the socket: a bubble cannot see through a system call.
func (r *rig) serve(answer func() socket.Answer) (*socket.Server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
	return nil, errors.New("no socket")
}

// ask asks as a client of the socket does.
func (r *rig) ask() socket.Answer {
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	return answer()
}

func (r *rig) event(e event.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	if r.happened != nil {
		r.happened(e)
	}
}

// run runs, and checks what holds of every run: at its end nothing of the job
// is left, and each handle was closed.
func (r *rig) run() (proc.Exit, error) {
	r.at(24*time.Hour, func() {
		r.t.Error("the run has no end")
		r.job.die(syscall.SIGKILL)
	})
	exit, err := Run(context.Background(), r.c)
	if r.closed != r.opened {
		r.t.Errorf("%d locks were opened, and %d closed", r.opened, r.closed)
	}
	for _, j := range r.jobs {
		if j.started != nil && !j.Gone() && !r.outlived {
			r.t.Errorf("something of %s is left", j.started.Path)
		}
		if !j.closed && !r.outlived {
			r.t.Errorf("a starter was not closed")
		}
	}
	return exit, err
}

// send sends us a signal at a time.
func (r *rig) send(at time.Duration, sig syscall.Signal) {
	r.at(at, func() { r.signals <- sig })
}

// A recorder keeps what is logged.
type recorder struct{ r *rig }

func (recorder) Enabled(context.Context, slog.Level) bool { return true }
func (h recorder) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h recorder) WithGroup(string) slog.Handler          { return h }
func (h recorder) Handle(_ context.Context, rec slog.Record) error {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.r.log = append(h.r.log, rec)
	return nil
}

// seconds is a duration of so many.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s*1e6)) * time.Microsecond }

var _ clock.Clock = (*world)(nil)
