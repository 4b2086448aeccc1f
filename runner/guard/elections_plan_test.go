//go:build unix

package guard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/runner/timing"
)

// A kind is one of fault.
type kind string

// The faults. Those of the network are the weather between one host and the
// store for a while.
const (
	requestsLost kind = "requests lost"
	repliesLost  kind = "replies lost"
	refused      kind = "requests refused"
	slow         kind = "slow network" // each way takes up to 2 L
	edge         kind = "delays of L"  // of 0.5, 1 or 2 L
	flaky        kind = "flaky network"

	ambiguous kind = "ambiguous acquire" // comes of these

	revoke  kind = "early revoke"
	deleted kind = "operator deletes"
	restart kind = "server restart"

	freezeLeaderrun kind = "leaderrun frozen"
	killLeaderrun   kind = "leaderrun killed"
	freezeGuard     kind = "guard frozen"
	killGuard       kind = "guard killed"
	suspendHost     kind = "host suspended"
	suspendAll      kind = "all hosts suspended"
)

var (
	weathers  = []kind{requestsLost, repliesLost, refused, slow, edge, flaky}
	ofStore   = []kind{revoke, deleted, restart}
	ofProcess = []kind{freezeLeaderrun, killLeaderrun, freezeGuard, killGuard, suspendHost, suspendAll}
)

// A fault befalls a host, or the store. Which host is not always for the plan to
// say: most process faults are meant for the leader of that moment.
type fault struct {
	kind   kind
	at     time.Duration
	lasts  time.Duration
	host   int
	leader bool
}

func (f fault) String() string {
	whom := fmt.Sprintf("host %d", f.host)
	if f.leader {
		whom = "the leader, or " + whom
	}
	return fmt.Sprintf("%v: %s, %s, for %v", f.at, f.kind, whom, f.lasts)
}

// A plan is all that a seed decides at the beginning.
type plan struct {
	seed     uint64
	hosts    int
	ppm      []int64 // the error of each boot clock
	storePPM int64
	timing   timing.Timing
	hasty    bool // signal at the first failed renewal
	lax      bool // the store renews a lease that has run out, if nobody has another
	extends  bool // the store extends leases when it restarts
	// jittery: the runner's own pauses, which no seed decides, are part of it: it
	// campaigns again, restarts jobs, and has acquires return that met an outage.
	jittery bool
	length  time.Duration
	befalls []fault
}

func newPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 1))
	ttl := []time.Duration{2, 3, 4, 6, 10, 15, 30}[r.IntN(7)] * time.Second
	p := plan{
		seed: seed, hosts: 3 + r.IntN(3), storePPM: ppm(r),
		timing: timing.New(ttl, -1),
		hasty:  r.IntN(4) == 0, lax: r.IntN(2) == 0, extends: r.IntN(2) == 0, jittery: r.IntN(3) == 0,
		length: 20 * ttl,
	}
	for range p.hosts {
		p.ppm = append(p.ppm, ppm(r))
	}
	draw := func(kinds []kind, n int) {
		for range n {
			p.befalls = append(p.befalls, fault{
				kind: kinds[r.IntN(len(kinds))], at: below(r, p.length), lasts: below(r, 5*ttl/2),
				host: r.IntN(p.hosts), leader: r.IntN(4) > 0,
			})
		}
	}
	draw(weathers, r.IntN(12))
	draw(ofStore, r.IntN(5))
	draw(ofProcess, r.IntN(14))
	return p
}

// ppm is a clock's error within what is promised, often the worst.
func ppm(r *rand.Rand) int64 { return []int64{-500, 500, 0, r.Int64N(1001) - 500}[r.IntN(4)] }

func below(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// dice are for the n-th thing of its sort that happens on a host.
func (p plan) dice(sort, host, n int) *rand.Rand {
	return rand.New(rand.NewPCG(p.seed, uint64(sort)<<60|uint64(host)<<48|uint64(n)))
}

// The sorts of things.
const (
	ofRequests = iota + 2
	ofWorks
	ofHosts
)

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d hosts of %v ppm, a store of %d ppm, %+v, hasty %v, lax %v, extends %v, jittery %v",
		p.hosts, p.ppm, p.storePPM, p.timing, p.hasty, p.lax, p.extends, p.jittery)
	for _, f := range p.befalls {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	return b.String()
}

// A fate is what becomes of one request.
type fate struct {
	out, back  time.Duration
	lost       bool // the request is
	unanswered bool // it is done, and the reply is lost
	refused    bool // somebody on the way answers
}

// fate draws one in some weather.
func (p plan) fate(weather kind, host, n int) fate {
	r := p.dice(ofRequests, host, n)
	const calm = 20 * time.Millisecond
	f := fate{out: below(r, calm), back: below(r, calm)}
	if weather == flaky {
		weather = append([]kind{"", ""}, weathers...)[r.IntN(len(weathers)+2)]
	}
	switch ttl := p.timing.TTL; weather {
	case requestsLost:
		f.lost = true
	case repliesLost:
		f.unanswered = true
	case refused:
		f.refused = true
	case slow:
		f.out, f.back = below(r, 2*ttl), below(r, 2*ttl)
	case edge:
		d := []time.Duration{ttl / 2, ttl, 2 * ttl}[r.IntN(3)] - 25*time.Millisecond + below(r, 50*time.Millisecond)
		if r.IntN(2) == 0 {
			f.out = d
		} else {
			f.back = d
		}
	}
	return f
}
