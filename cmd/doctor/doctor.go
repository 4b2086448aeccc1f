// Package doctor checks a backend, the path to it, and this machine, before a job depends
// on them. It looks at each thing once, in the order in which a run needs them, and measures
// what can be measured: it takes a scratch lock, lets one contender take over from another,
// and deletes what that leaves behind.
//
// A check reports what was found, and what to do about it. A check that makes no sense after
// an earlier failure is skipped, and the report says so.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// A Config says what to look at, and how.
type Config struct {
	Backend string       // a name or a URL, as the user wrote it
	Source  string       // where Backend comes from, for people
	Open    locks.Opener // opens the backend's locks
	// Find returns the path of a backend's helper program, or "" if it is built in.
	Find func(scheme string) (path string, err error)
	// Foreign reports whether a helper is not part of leaderrun, and so has its own
	// versions.
	Foreign func(scheme string) bool
	// Variables are the variables that this backend reads, in addition to all that begin
	// with LEADERRUN_SCHEME_. Addresses are those that name its store.
	Variables, Addresses []string
	Environ              []string // NAME=value

	Lock           string        // the scratch lock's name begins with it; may be empty
	Holder         string        // our id, as others see it
	TTL            time.Duration // that runs would ask for
	ConnectTimeout time.Duration // bounds each request
	// Spacing is the minimum time between two writes to one lock that the service allows.
	Spacing time.Duration
	MinTTL  time.Duration // the shortest lease that the service grants
	Version string        // of this program

	Clock  clock.Clock
	Logger *slog.Logger
	// Report is called with each check, as soon as it is made.
	Report func(Check)
	// Progress is called with what is being done now.
	Progress func(string)
}

// An exam is one run of all checks.
type exam struct {
	Config
	backend  *url.URL
	scratch  string // the name of the scratch lock
	touched  bool   // it was held, or may have been
	observer *handle
	refused  error // why a built-in backend could not be opened

	permanent bool          // locks have no lease
	longest   time.Duration // the longest lease that the server grants; 0: as long as we ask for
	short     bool          // only leases that runs would ask for are granted
	rtt       time.Duration // the 99th percentile of how long renewals took
	wrote     clock.Instant // when the last write was sent
	paused    time.Duration // the sum of pauses before writes

	broken string // why checks that need the backend are skipped; "": they are not
}

// diagnose makes all checks and returns them. It ends early with ctx. It leaves nothing behind
// that the backend can delete. Cleaning up may take as long as a lease after ctx has ended,
// but it ends with forced.
func diagnose(ctx, forced context.Context, c Config) []Check {
	e := &exam{Config: c, scratch: scratchName(c.Lock)}
	var all []Check
	report := func(checks []Check) {
		for _, check := range checks {
			all = append(all, check)
			e.Report(check)
		}
	}
	for _, s := range e.steps() {
		e.Progress(s.name)
		report(e.take(ctx, s))
	}
	if e.observer != nil {
		e.observer.close()
	}
	if e.touched {
		e.Progress("clean up")
		report(e.cleanUp(forced))
	}
	return all
}

// scratchName returns the name of a lock that nobody else uses. It has the time at which it
// was made, and begins with the given name, because permissions may depend on that.
func scratchName(begin string) string {
	name := fmt.Sprintf("leaderrun-doctor/%08x%08x", uint32(time.Now().Unix()), rand.Uint32())
	if begin != "" {
		name = begin + "/" + name
	}
	return name
}

// checkName returns an ErrUsage if a scratch lock's name cannot begin with the given name.
func checkName(begin string) error { return locks.CheckName(scratchName(begin)) }

// A step makes one check, or a few that belong together.
type step struct {
	name    string
	backend bool          // skip it if the backend is known to be broken
	lease   bool          // skip it if locks have no lease
	ability locks.Ability // skip it if the backend lacks this ability; "": it needs none
	run     func(context.Context) []Check
}

// steps returns all steps in order.
func (e *exam) steps() []step {
	return []step{
		{name: "backend", run: e.parse},
		{name: "helper", backend: true, run: e.helper},
		{name: "settings", backend: true, run: e.settings},
		{name: "servers", backend: true, ability: locks.CanProbe, run: e.servers},
		{name: "permissions", backend: true, run: e.permissions},
		{name: "round trip", backend: true, lease: true, run: e.roundTrip},
		{name: "lease", backend: true, lease: true, run: e.lease},
		{name: "hand-over", backend: true, run: e.handOver},
		{name: "take-over", backend: true, lease: true, run: e.takeOver},
		{name: "containment", run: e.containment},
		{name: "boot clock", run: e.bootClock},
	}
}

// take makes the checks of a step, or says why it is skipped.
func (e *exam) take(ctx context.Context, s step) []Check {
	switch {
	case s.backend && e.broken != "":
		return []Check{skipped(s.name, "skipped: "+e.broken)}
	case ctx.Err() != nil:
		return []Check{skipped(s.name, "skipped: "+ended(ctx))}
	case s.lease && e.permanent:
		return []Check{skipped(s.name, "there is no lease: a lock lasts as long as its holder's process")}
	case s.ability != "":
		if err := e.observer.require(ctx, s.ability); err != nil {
			return []Check{skipped(s.name, output.OneLine(err.Error()))}
		}
	}
	checks := s.run(ctx)
	switch {
	case ctx.Err() == nil:
		return checks
	case errors.Is(context.Cause(ctx), errTimeLimit):
		return []Check{wrong(s.name, "give it more time with --timeout", "%s", ended(ctx))}
	}
	return []Check{skipped(s.name, ended(ctx))}
}

// errTimeLimit is the cause of a context that ended because all checks together took too
// long.
var errTimeLimit = errors.New("the time limit was reached")

// ended says why a context has ended.
func ended(ctx context.Context) string { return context.Cause(ctx).Error() }

// stop has all later checks skipped that need the backend.
func (e *exam) stop(why string) {
	if e.broken == "" {
		e.broken = why
	}
}

// patient returns the length of a lease for all checks that are not about leases. If we are
// killed, the scratch lock is held for so long.
func (e *exam) patient() time.Duration {
	if e.short {
		return e.TTL
	}
	return min(max(e.TTL, patientTTL), time.Minute)
}

const patientTTL = 15 * time.Second

// request bounds one request.
func (e *exam) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.ConnectTimeout)
}

// bounded bounds a request that the backend itself bounds. The backend's error says more
// than that the time is over, so this limit is longer, and only for a backend that hangs.
func (e *exam) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 2*e.ConnectTimeout+3*time.Second)
}

// timing returns how a lease of the given length is renewed, or one of the longest that the
// server grants.
func (e *exam) timing(ttl time.Duration) timing.Timing {
	if e.longest > 0 {
		ttl = min(ttl, e.longest)
	}
	return timing.New(ttl, timing.KillAfter)
}
