package guard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/runner/timing"
)

// A kind is a kind of fault.
type kind string

// The faults. Those of the network last for a while, between one host and the store.
const (
	requestsLost kind = "requests lost"
	repliesLost  kind = "replies lost"
	refused      kind = "requests refused"
	slow         kind = "slow network" // each direction takes up to 2 L
	edge         kind = "delays of L"  // of 0.5, 1 or 2 L
	flaky        kind = "flaky network"

	ambiguous kind = "ambiguous acquire" // other faults cause it

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
	networkFaults = []kind{requestsLost, repliesLost, refused, slow, edge, flaky}
	ofStore       = []kind{revoke, deleted, restart}
	ofProcess     = []kind{freezeLeaderrun, killLeaderrun, freezeGuard, killGuard, suspendHost, suspendAll}
)

// A fault is one of a host, or of the store. Most faults of processes are those of the
// leader at that moment, so the plan does not name the host.
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

// A plan is what a seed decides at the beginning.
type plan struct {
	seed     uint64
	hosts    int
	ppm      []int64 // the error of each boot clock
	storePPM int64
	timing   timing.Timing
	lax      bool // the store renews a lease that has run out, if nobody has another
	extends  bool // the store extends leases when it restarts
	// jittery says that the runner makes random pauses, which the seed does not decide: it
	// campaigns again, restarts jobs, and acquires fail that meet an outage.
	jittery bool
	wakes   bool // the system has timers that notice a suspend; see [clock.Waker]
	length  time.Duration
	planned []fault
}

func newPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 1))
	ttl := []time.Duration{2, 3, 4, 6, 10, 15, 30}[r.IntN(7)] * time.Second
	p := plan{
		seed: seed, hosts: 3 + r.IntN(3), storePPM: ppm(r),
		timing: timing.New(ttl, timing.KillAfter),
		lax:    r.IntN(2) == 0, extends: r.IntN(2) == 0, jittery: r.IntN(3) == 0,
		length: 20 * ttl,
	}
	for range p.hosts {
		p.ppm = append(p.ppm, ppm(r))
	}
	draw := func(kinds []kind, n int) {
		for range n {
			p.planned = append(p.planned, fault{
				kind: kinds[r.IntN(len(kinds))], at: below(r, p.length), lasts: below(r, 5*ttl/2),
				host: r.IntN(p.hosts), leader: r.IntN(4) > 0,
			})
		}
	}
	draw(networkFaults, r.IntN(12))
	draw(ofStore, r.IntN(5))
	draw(ofProcess, r.IntN(14))
	p.wakes = r.IntN(2) == 0
	return p
}

// ppm returns the error of a clock. It is within the promise, and often the worst.
func ppm(r *rand.Rand) int64 { return []int64{-500, 500, 0, r.Int64N(1001) - 500}[r.IntN(4)] }

func below(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// dice returns a source of random numbers for the n-th event of a sort on a host.
func (p plan) dice(sort, host, n int) *rand.Rand {
	return rand.New(rand.NewPCG(p.seed, uint64(sort)<<60|uint64(host)<<48|uint64(n)))
}

// The sorts of events.
const (
	ofRequests = iota + 2
	ofWorks
	ofHosts
)

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d hosts of %v ppm, a store of %d ppm, %+v, lax %v, extends %v, jittery %v, wakes %v",
		p.hosts, p.ppm, p.storePPM, p.timing, p.lax, p.extends, p.jittery, p.wakes)
	for _, f := range p.planned {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	return b.String()
}

// A delivery says what happens to one request.
type delivery struct {
	out, back  time.Duration
	lost       bool // the request is lost
	unanswered bool // the store serves the request, and the reply is lost
	refused    bool // another program answers with an error
}

// delivery draws what happens to a request with a fault of the network.
func (p plan) delivery(network kind, host, n int) delivery {
	r := p.dice(ofRequests, host, n)
	const calm = 20 * time.Millisecond
	f := delivery{out: below(r, calm), back: below(r, calm)}
	if network == flaky {
		network = append([]kind{"", ""}, networkFaults...)[r.IntN(len(networkFaults)+2)]
	}
	switch ttl := p.timing.TTL; network {
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
