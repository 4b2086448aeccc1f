package run

import (
	"fmt"
	"hash/fnv"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/window"
)

// checkLife refuses what cannot be meant of a line of crontab, or of a service.
func (s *session) checkLife() error {
	switch {
	case s.OncePer != "" && s.Slots.Given: // neither is given up for the other: it would be another lock
		return locks.Usagef("--once-per and --slots contradict each other: runs are recorded per lock, not per slot")
	case s.OncePer == "" && s.OncePerAttempt:
		return output.WithHint(locks.Usagef("--once-per-attempt needs --once-per"), "add --once-per WINDOW")
	case s.RestartDelay.D <= 0:
		return locks.Usagef("--restart-delay %v is out of range: more than 0", s.RestartDelay.D)
	case s.RestartDelay.D > s.RestartMaxDelay.D:
		return locks.Usagef("--restart-delay %v is longer than --restart-max-delay %v", s.RestartDelay.D, s.RestartMaxDelay.D)
	case s.GiveUpAfter.N > 0 && s.Restart.Value == "no":
		return output.WithHint(locks.Usagef("--give-up-after needs --restart"), "add --restart on-failure")
	case s.HookTimeout.D <= 0:
		return locks.Usagef("--hook-timeout %v is out of range: more than 0", s.HookTimeout.D)
	}
	return nil
}

// once returns the window of a run that starts now, or nil without --once-per.
func (s *session) once(now time.Time) (*runner.Once, error) {
	if s.OncePer == "" {
		return nil, nil
	}
	schedule, err := window.Parse(s.OncePer, os.Getenv("CRON_TZ"))
	if err != nil {
		return nil, fmt.Errorf("--once-per: %w", err)
	}
	current := schedule.Window(now)
	return &runner.Once{Schedule: schedule.String(), Window: current.Key, Label: current.Label, Attempt: s.OncePerAttempt}, nil
}

func (s *session) restarts() runner.Restart {
	return runner.Restart{
		OnFailure:   s.Restart.Value != "no",
		OnSuccess:   s.Restart.Value == "always",
		Delay:       s.RestartDelay.D,
		MaxDelay:    s.RestartMaxDelay.D,
		GiveUpAfter: s.GiveUpAfter.N,
	}
}

// splayed is the pause before the first campaign.
func (s *session) splayed() time.Duration {
	if s.Splay.D <= 0 {
		return 0
	}
	host, _ := os.Hostname() // without a name all such hosts are one
	return splay(host, s.Lock, s.Splay.D)
}

// splay picks a moment in [0, d) by host and lock, so that a host is always as
// late, and all of them are spread evenly.
func splay(host, lock string, d time.Duration) time.Duration {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", host, lock)
	return time.Duration(mix(h.Sum64()) % uint64(d))
}

// mix spreads similar numbers, as the last step of splitmix64 does.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// starters returns what is runner.Config.Starter. The first one was begun while
// the options were read.
func (s *session) starters() func() (proc.Starter, error) {
	var mu sync.Mutex
	return func() (proc.Starter, error) {
		mu.Lock()
		first := s.starter
		s.starter = nil
		mu.Unlock()
		if first != nil {
			return first, nil
		}
		next := newStarter()
		if err := s.contain(next); err != nil {
			next.Close()
			return nil, err
		}
		return next, nil
	}
}
