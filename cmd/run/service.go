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
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/notify"
)

// What systemd is told, sd_notify(3), and why so.
//
//	READY=1              when the job has been started: "active" means that we lead
//	STOPPING=1           when the job is being stopped, or has ended
//	STATUS=…             for people: systemctl status
//	EXTEND_TIMEOUT_USEC  while we wait for the lock, and until the job is started: to
//	                     wait is no failure to start, whatever TimeoutStartSec= says
//	                     (-w bounds the wait)
//	WATCHDOG=1           while all is well, see below
//
// The watchdog hears of us while the lease is surely ours and the goroutine that
// would kill the job is able to, until the job is being stopped: from STOPPING=1
// on TimeoutStopSec= counts. It hears of us while we wait, too, as long as
// signals are heeded. Before READY=1 systemd does not ask for that in a unit of
// Type=notify; in one of another type, a standby has been "active" from the
// start and would be killed for its silence.
//
// With --notify-job the job says READY=1 itself, and all else stays as it is.
//
// With --restart or --rejoin the unit stays active from the first start on, also
// while we wait again: only STATUS= tells. STOPPING=1 comes with our own end, and
// until then the watchdog hears of us whatever becomes of a job.

// As systemd's own timeouts are 90 s, a waiter that is frozen does not stay
// unnoticed for much longer, nor one that a busy machine delays get killed.
const (
	extendBy    = 30 * time.Second
	extendEvery = 10 * time.Second
)

// jobStart is systemd's default for TimeoutStartSec=. A job that is to say
// READY=1 itself has so long, as the wait has used up the time of its unit.
const jobStart = 90 * time.Second

// A service is a run as its service manager sees it.
type service struct {
	manager *notify.Manager // nil: there is none
	lock    string
	job     bool // the job says that it is ready, not we
	lasts   bool // the end of a job may not be ours

	mu       sync.Mutex
	active   bool // READY=1 was told
	stopping bool // that was told, and why
}

func newService(v *options.Values, logger *slog.Logger) *service {
	s := &service{
		manager: notify.FromEnvironment(os.Environ(), os.Getpid(), logger),
		lock:    v.Lock,
		job:     v.NotifyJob,
		lasts:   v.Rejoin || v.Restart.Value != "no",
	}
	s.manager.Tell(status("waiting for lock %q", s.lock))
	return s
}

// event reports a transition to the manager.
func (s *service) event(e event.Event) {
	if s.manager == nil || e.Hook != "" {
		return
	}
	switch e.Kind {
	case event.Restarting:
		s.manager.Tell(status("leading as %s; the job will be started again: %s", e.Holder, e.Reason))
	case event.Rejoining:
		s.manager.Tell(status("waiting for lock %q; the last term ended: %s", s.lock, e.Reason))
	case event.Waiting:
		s.manager.Tell(status("waiting for lock %q, %s", s.lock, e.Reason))
	case event.Unavailable:
		s.manager.Tell(status("waiting for lock %q: %s", s.lock, e.Reason))
	case event.Started:
		s.started(status("leading as %s with token %d", e.Holder, e.Token))
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
	switch {
	case !first:
		s.manager.Tell(status)
	case s.job:
		s.manager.Tell(status, extend(jobStart))
	default:
		s.manager.Tell(status, "READY=1")
	}
}

// stop reports the first reason to stop; later reasons are its consequences. If another
// job may follow, the end of this one is not the end of the service.
func (s *service) stop(status string) {
	if s.lasts {
		s.manager.Tell(status)
		return
	}
	s.end(status)
}

func (s *service) end(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.stopping = true
		s.manager.Tell(status, "STOPPING=1")
	}
}

// alive returns what is runner.Config.Heartbeat.
func (s *service) alive() func(heartbeat.Stage) time.Duration {
	if s.manager == nil {
		return nil
	}
	return func(stage heartbeat.Stage) time.Duration {
		switch stage {
		case heartbeat.Waiting, heartbeat.Leading:
			if s.isActive() { // then it would extend something else
				return s.ping(0)
			}
			return s.ping(extendEvery, extend(extendBy))
		case heartbeat.Stopping:
			return 0
		default:
			s.end(status("stopping: the job has ended"))
			return 0
		}
	}
}

func (s *service) isActive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// ping sends a state, with a sign of life for the watchdog, and returns the time until it
// must be sent again: the given one (0: never), or half the watchdog's limit if that is
// less. A state that did not arrive is sent again sooner.
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

// status is a line for people. What others wrote may not add another line to
// it, such as WATCHDOG=1.
func status(format string, args ...any) string {
	return "STATUS=" + locks.Printable(fmt.Sprintf(format, args...))
}

func extend(by time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds()) }
