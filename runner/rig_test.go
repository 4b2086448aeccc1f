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

// ttl is the default of leaderrun, and of most tests: R is 3 s, A 2 s, G 5 s, J and X 1 s.
const ttl = 15 * time.Second

// A rig is a Run in its own world.
type rig struct {
	*world
	server *server
	job    *job   // the last one that was started, or the first one
	jobs   []*job // all jobs

	c       Options
	host    funcs
	watch   watch
	signals chan os.Signal

	acquire   []acquisition     // of each attempt in turn; the last one also of all further attempts
	renew     func(n int) reply // the reply to the n-th Renew, from 1
	release   reply
	lost      chan error
	asked     chan []byte
	shelf     shelf
	starts    func(*job, proc.Command) // called before each start; may be nil
	permanent bool
	secrets   []string
	queue     map[int][]locks.Place // the other waiters when the n-th attempt has the lock
	outlived  bool                  // the job may outlive the lease, because nothing can prevent that
	happened  func(event.Event)
	exit      Exit // of the run that has ended

	mu       sync.Mutex
	opened   int // how many locks were opened
	closed   int
	renewals int
	events   []event.Event
	log      []slog.Record
	answer   func() socket.Answer
}

// bubble runs a test in its own world. If a goroutine is left in it at the end, the test
// fails.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

// bubbleIn is like bubble, for one of several cases of a test.
func bubbleIn(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

// often runs a test many times, because a select chooses at random.
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
	r.host = funcs{open: r.open, starter: r.starter}
	r.watch.event = r.event
	r.c = Options{
		Command:        proc.Command{Path: "/bin/job", Args: []string{"job"}, Env: []string{"HOME=/"}},
		Lock:           "nightly",
		Backend:        "model://server",
		Store:          "5706e",
		Holder:         "host/1/a",
		ConnectTimeout: 5 * time.Second,
		Timing:         timing.New(ttl, 5*time.Second),
		Signal:         syscall.SIGTERM,
		Signals:        r.signals,
		Clock:          w,
		Logger:         slog.New(recorder{r}),
		Serve:          r.serve,
	}
	return r
}

// serve replaces the socket, because a bubble must not block in a system call.
func (r *rig) serve(answer func() socket.Answer) (*socket.Server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
	return nil, errors.New("no socket")
}

// ask returns the answer that a client of the socket would get.
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

// run calls Run, and checks what must be true of every run: at its end, nothing of the job is
// left, and each handle was closed.
func (r *rig) run() (proc.Exit, error) {
	r.at(24*time.Hour, func() {
		r.t.Error("the run does not end")
		r.job.die(syscall.SIGKILL)
	})
	exit, err := Run(context.Background(), &r.host, &r.watch, r.c)
	r.exit = exit
	if r.closed != r.opened {
		r.t.Errorf("%d locks were opened, and %d closed", r.opened, r.closed)
	}
	for _, j := range r.jobs {
		if j.started != nil && !proc.IsClosed(j.gone) && !r.outlived {
			r.t.Errorf("something of %s is left", j.started.Path)
		}
		if !j.closed && !r.outlived {
			r.t.Errorf("a starter was not closed")
		}
	}
	return exit.Exit, err
}

// send sends us a signal at a time.
func (r *rig) send(at time.Duration, sig syscall.Signal) {
	r.at(at, func() { r.signals <- sig })
}

// A recorder keeps the log.
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

// seconds returns a duration.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s*1e6)) * time.Microsecond }

var _ clock.Clock = (*world)(nil)
