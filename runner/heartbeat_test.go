package runner

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// beats records the calls of Heartbeat, which returns these pauses while waiting and leading.
func (r *rig) beats(waiting, leading time.Duration) {
	r.watch.heartbeat = func(s heartbeat.Stage) time.Duration {
		r.note([]string{"waits", "leads", "stops", "is over"}[s])
		return []time.Duration{waiting, leading, leading, time.Second}[s]
	}
}

// led returns the times at which a heartbeat said that we lead.
func (r *rig) led() []time.Duration { return r.times("leads") }

func TestAlive(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.beats(10*time.Second, 4*time.Second)
		r.acquire = []acquisition{waits(25*time.Second, "bob", granted)}
		r.job.begin = runs(10*time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		// The order at 0s is not fixed.
		slices.Sort(r.trace[:3])
		r.did("0s acquire", "0s open", "0s waits", "10s waits", "20s waits", "25s start",
			"25s leads", "29s leads", "33s leads", "35s exit", "35s is over", "35s release", "35s close")
	})
}

// If Heartbeat returns 0, it is called once in each stage.
func TestAliveOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.beats(0, 0)
		r.acquire = []acquisition{fails(errDown), waits(25*time.Second, "bob", granted)}
		r.job.begin = runs(10*time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		for _, what := range []string{"waits", "leads", "is over"} {
			if got := r.times(what); len(got) != 1 {
				t.Errorf("%s: got %v; want it once", what, got)
			}
		}
	})
}

// A waiter is well even if the backend is down.
func TestAliveInAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.beats(time.Second, time.Second)
		r.acquire = []acquisition{fails(errDown)}
		r.send(seconds(60.5), syscall.SIGTERM)
		_, err := r.run()
		if got := r.times("waits"); len(got) != 61 {
			t.Errorf("got %v (%v); want one each second", got, err)
		}
		if got := r.times("is over"); got != nil {
			t.Errorf("got over at %v; nothing had begun", got)
		}
	})
}

// When the job is being stopped, no heartbeat says that we lead.
func TestNotAliveWhenStopping(t *testing.T) {
	tests := []struct {
		name  string
		setup func(r *rig)
		last  time.Duration
	}{
		{"no renewal", func(r *rig) { r.renew = silentAfter(1) }, seconds(10)}, // D_signal is 10.985 s
		{"signal", func(r *rig) { r.send(seconds(5.5), syscall.SIGTERM) }, seconds(5)},
		{"leftovers", func(r *rig) { r.job.begin = forks(seconds(7.5), 0) }, seconds(7)},
		{"lost", func(r *rig) { r.at(seconds(2.5), func() { r.lost <- locks.ErrLost }) }, seconds(2)},
		{"other signals", func(r *rig) {
			r.send(seconds(1.5), syscall.SIGUSR1)
			r.send(seconds(4.5), syscall.SIGTERM)
		}, seconds(4)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.beats(time.Second, time.Second)
				r.job.on, r.job.dying = deaf, seconds(1.5)
				test.setup(r)
				_, _ = r.run()
				got := r.led()
				if want := int(test.last/time.Second) + 1; len(got) != want || got[want-1] != test.last {
					t.Errorf("got %v; want one each second until %v", got, test.last)
				}
				if over := r.times("is over"); len(over) != 1 || over[0] < r.when("exit") {
					t.Errorf("got over at %v; want it once, after the exit at %v", over, r.when("exit"))
				}
			})
		})
	}
}

// While the job is being stopped under a lease that is ours, heartbeats say so, however long it
// takes.
func TestAliveWhenStopping(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.beats(time.Second, time.Second)
		r.job.on = tidies(seconds(3.2), 0) // not at the moment of a beat
		r.send(seconds(5.5), syscall.SIGTERM)
		_, _ = r.run()
		got, want := r.times("stops"), []time.Duration{seconds(6), seconds(7), seconds(8)}
		if !slices.Equal(got, want) {
			t.Errorf("got %v; want %v", got, want)
		}
	})
}

func TestNotAliveWhenStoppingAfterLoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.beats(time.Second, time.Second)
		r.job.on, r.job.dying = deaf, seconds(3.5)
		r.at(seconds(2.5), func() { r.lost <- locks.ErrLost })
		_, _ = r.run()
		if got := r.times("stops"); got != nil {
			t.Errorf("got %v; want it never", got)
		}
	})
}

// A core that wakes up after the end of its lease does not say that it leads, even if a
// heartbeat is due before anything else has noticed the end.
func TestNotAliveAfterSuspend(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.outlived = true
		r.beats(time.Second, 500*time.Millisecond)
		r.job.on = func(*job, syscall.Signal) { time.Sleep(seconds(0.8)) }
		r.send(seconds(3.1), syscall.SIGUSR1)
		r.at(seconds(3.2), func() { r.sleep(time.Hour) })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		if at := r.led(); at[len(at)-1] > seconds(4) {
			t.Errorf("the lease ended while the machine slept, but a heartbeat at %v says that we lead", at[len(at)-1])
		}
	})
}

// Nor does a core whose lock was taken away when a heartbeat is due.
func TestNotAliveAfterLoss(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.beats(time.Second, time.Second)
		r.job.on = func(*job, syscall.Signal) { time.Sleep(2 * time.Second) }
		r.send(seconds(2.5), syscall.SIGUSR1)
		r.at(seconds(2.75), func() { r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		if at := r.led(); at[len(at)-1] != seconds(2) {
			t.Errorf("the lock was lost at 2.75s, but a heartbeat at %v says that we lead", at[len(at)-1])
		}
	})
}

// A core that is stuck has no heartbeat, even if its lease is being renewed, because it could
// not stop the job.
func TestNotAliveWhenStuck(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.beats(time.Second, time.Second)
		r.job.on = func(*job, syscall.Signal) { time.Sleep(time.Hour) }
		r.send(seconds(7.5), syscall.SIGUSR1)
		r.job.begin = runs(2*time.Hour, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		for _, at := range r.led() {
			if at > seconds(7.5) && at < time.Hour+seconds(7.5) {
				t.Errorf("got a heartbeat at %v", at)
			}
		}
		if last := r.led()[len(r.led())-1]; last < 2*time.Hour-time.Second {
			t.Errorf("got the last one at %v; want them until the end", last)
		}
	})
}

// If we may outlive the job, heartbeats continue until the term is over, even if a signal ends
// both, and while on-lost runs.
func TestAliveWhileItLasts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.restarts(Restart{})
		r.beats(time.Second, time.Second)
		r.hooks(map[string]func(*job){"lost": runs(10*time.Second, 0), "": func(j *job) { j.on = tidies(seconds(3.5), 0) }})
		r.c.Hooks.Elected.Path, r.c.Hooks.Resign.Path = "", ""
		r.at(5*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		r.send(20*time.Second, syscall.SIGTERM)
		_, _ = r.run()
		last := time.Duration(0)
		for _, e := range r.trace {
			at, what, _ := strings.Cut(e, " ")
			if d, _ := time.ParseDuration(at); what == "waits" || what == "leads" || what == "is over" {
				r.within(d-last, 0, time.Second)
				last = d
			}
		}
		r.within(last, seconds(23.5), seconds(23.5))
	})
}

// A run that starts no job also has its last heartbeat before the release.
func TestAliveWithoutAJob(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.beats(time.Second, time.Second)
		r.job.refuse = &proc.StartError{Command: "job"}
		_, _ = r.run()
		r.world.mu.Lock()
		defer r.world.mu.Unlock()
		trace := strings.Join(r.trace, ", ")
		if strings.Contains(trace, "leads") || !strings.Contains(trace, "start fails, 0s is over, 0s release") {
			t.Errorf("got %s", trace)
		}
	})
}
