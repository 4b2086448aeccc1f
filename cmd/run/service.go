package run

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/notify"
)

// What we send to systemd, sd_notify(3), and why:
//
//	READY=1              when the job has been started: "active" means that we lead
//	STOPPING=1           when the job is being stopped, or has ended
//	STATUS=…             for people: systemctl status
//	EXTEND_TIMEOUT_USEC  while we wait for the lock, and until the job is started:
//	                     waiting is not a failure to start, whatever TimeoutStartSec=
//	                     says (-w bounds the wait)
//	WATCHDOG=1           while all is well, see below
//
// We feed the watchdog while the lease is certainly ours and the goroutine that would kill
// the job can do so, until the job is being stopped: after STOPPING=1, TimeoutStopSec=
// applies. We also feed it while we wait, as long as we react to signals. Before READY=1
// systemd does not require that in a unit of Type=notify. But in a unit of another type, a
// standby is "active" from the start, and silence would get it killed.
//
// With --restart or --rejoin the unit stays active after the first start, even while we
// wait again: only STATUS= shows that. STOPPING=1 comes when leaderrun itself ends, and
// until then we feed the watchdog, whatever happens to a job.

// systemd's own timeouts are 90 s. With these values a frozen waiter is noticed not much
// later, and one that a busy machine delays is not killed.
const (
	extendBy    = 30 * time.Second
	extendEvery = 10 * time.Second
)

// A service is a run as its service manager sees it.
type service struct {
	runner.Unobserved

	manager *notify.Manager // nil: there is none
	lock    string
	lasts   bool // we may go on after the end of a job

	mu       sync.Mutex
	active   bool // READY=1 was sent
	stopping bool // STOPPING=1 was sent
}

func newService(v *options.Values, logger *slog.Logger) *service {
	s := &service{
		manager: notify.FromEnvironment(os.Environ(), os.Getpid(), logger),
		lock:    v.Lock,
		lasts:   v.Rejoin || v.Restart.Value != "no",
	}
	s.manager.Tell(status("waiting for lock %q", s.lock))
	return s
}

// Event reports a transition to the manager.
func (s *service) Event(e event.Event) {
	if s.manager == nil || e.Hook != "" {
		return
	}
	switch e.Kind {
	case event.Restarting:
		s.manager.Tell(status("leading as %s; the job will be started again: %s", e.ID, e.Reason))
	case event.Rejoining:
		s.manager.Tell(status("waiting for lock %q; the last term ended: %s", s.lock, e.Reason))
	case event.Waiting:
		s.manager.Tell(status("waiting for lock %q, %s", s.lock, e.Reason))
	case event.Unavailable:
		s.manager.Tell(status("waiting for lock %q: %s", s.lock, e.Reason))
	case event.Started:
		s.started(status("leading as %s with token %d", e.ID, e.Token))
	case event.Lost:
		reason := strings.TrimPrefix(e.Reason, locks.ErrLost.Error()+": ")
		s.stop(status("stopping: leadership was lost: %s", reason))
	case event.Signalled:
		s.stop(status("stopping with %s: %s", e.Signal, e.Reason))
	case event.Killed:
		s.stop(status("stopping: %s", e.Reason))
	}
}

func (s *service) started(status string) {
	s.mu.Lock()
	first := !s.active
	s.active = true
	s.mu.Unlock()
	if first {
		s.manager.Tell(status, "READY=1")
	} else {
		s.manager.Tell(status)
	}
}

// stop reports that a job is being stopped. If another job may follow, the end of this one
// is not the end of the service.
func (s *service) stop(status string) {
	if s.lasts {
		s.manager.Tell(status)
		return
	}
	s.end(status)
}

// end reports the first reason to stop. Later reasons are its consequences.
func (s *service) end(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.stopping = true
		s.manager.Tell(status, "STOPPING=1")
	}
}

// Heartbeat implements [runner.Observer].
func (s *service) Heartbeat(stage heartbeat.Stage) time.Duration {
	if s.manager == nil {
		return 0
	}
	switch stage {
	case heartbeat.Waiting, heartbeat.Leading:
		s.mu.Lock()
		active, stopping := s.active, s.stopping
		s.mu.Unlock()
		switch {
		case stopping: // a ping would rearm the watchdog
			return 0
		case active: // an extension would apply to something else
			return s.ping(0)
		}
		return s.ping(extendEvery, extend(extendBy))
	case heartbeat.Over:
		s.end(status("stopping: the job has ended"))
	}
	return 0
}

// ping sends a state and feeds the watchdog. It returns the time until the next ping: the
// given one (0: never), or half the watchdog's limit if that is less. A state that could
// not be sent is sent again sooner.
func (s *service) ping(every time.Duration, state ...string) time.Duration {
	if watchdog := s.manager.Watchdog(); watchdog > 0 {
		state = append(state, "WATCHDOG=1")
		if every == 0 || every > watchdog/2 {
			every = watchdog / 2
		}
	}
	if len(state) > 0 && !s.manager.Ping(state...) {
		every /= 5
	}
	return every
}

// status returns a line for people. Text that others wrote cannot add another line to it,
// such as WATCHDOG=1.
func status(format string, args ...any) string {
	return "STATUS=" + locks.Printable(fmt.Sprintf(format, args...))
}

func extend(by time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds()) }
