package runner

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// The guard that would release the lock if we died in a wait starts what runs next, and only
// that. See also job.Start.
func TestEntrusted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.hooks(map[string]func(*job){"elected": runs(time.Second, 0), "resign": runs(time.Second, 0)})
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("0s open", "0s acquire", "0s set record", "0s entrust", "40s set record", "40s start elected", "41s exit elected",
			"41s start", "42s exit", "42s start resign", "43s exit resign", "43s set record", "43s release", "43s close")
		if len(r.jobs) != 3 || !r.jobs[0].entrusted || r.jobs[1].entrusted {
			t.Errorf("got %d starters; want one for each task, and the first entrusted", len(r.jobs))
		}
	})
}

// A guard that cannot be entrusted is closed, and the job gets another.
func TestNotEntrusted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.job.untrusting = os.ErrClosed
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if len(r.jobs) != 2 || r.jobs[0].started != nil || r.when("start") != 40*time.Second {
			t.Errorf("got %d starters, and the start at %v", len(r.jobs), r.when("start"))
		}
	})
}

// However early a run ends that got the lock, it has noted before its release that it did not wait
// for the end of the previous lease. If it cannot, it does not release the lock.
func TestStrictEndsEarly(t *testing.T) {
	signalled := func(r *rig) {
		r.acquire = []acquisition{stubborn(hangs(time.Second, unclean))}
		r.send(time.Second/2, syscall.SIGTERM)
	}
	gated := func(r *rig) { r.server.ttl = time.Second }
	for name, early := range map[string]func(*rig){"signal at the grant": signalled, "too short a lease": gated} {
		for _, fails := range []string{"nothing", "read", "write"} {
			t.Run(name+", "+fails+" fails", func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.strict(false)
					r.renew = silentAfter(0)
					early(r)
					all := func(int) reply { return reply{err: errDown} }
					switch fails {
					case "read":
						r.shelf.read = all
					case "write":
						r.shelf.write = all
					}
					if _, err := r.run(); err == nil || r.job.started != nil {
						t.Errorf("got %v, and the job was started: %t", err, r.job.started != nil)
					}
					released := len(r.times("release")) > 0
					if term := r.recorded().Term; released != (fails == "nothing") || released != (term.Unproved != nil) {
						t.Errorf("released: %t, although the record says %+v", released, term)
					}
					time.Sleep(time.Minute) // our lease ends
				})
			})
		}
	}
}

// A signal at the grant ends a term well if the previous one had.
func TestStrictSignalAfterClean(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(true)
		r.acquire = []acquisition{stubborn(hangs(time.Second, unclean))}
		r.send(time.Second/2, syscall.SIGTERM)
		if _, err := r.run(); !errors.As(err, new(*SignalError)) {
			t.Errorf("got %v, want a SignalError", err)
		}
		if term := r.recorded().Term; *term != (ledger.Term{Token: token, TTL: int64(ttl), By: "host/1/a", Clean: true}) {
			t.Errorf("got %+v, want ours", term)
		}
	})
}

// With a record that is not a record, no strict run starts its job, and the lock is released.
func TestStrictInvalidRecord(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.shelf.text = []byte("no record")
		exit, err := r.run()
		r.failed(exit, err, locks.ErrUnavailable)
		r.did("0s open", "0s acquire", "0s release", "0s close")
	})
}
