package faults

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/faults/host"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A fault is one kind of harm.
type fault struct {
	name string
	// strike does the harm, for as long as pass takes if it lasts, and undoes it. It
	// returns false if there was nothing to harm.
	strike func(n *nemesis, m *machine) bool
}

// A nemesis causes one fault after the other, each kind in turn, in an order that its
// seed decides. A cell has three: one for the network, one for everything else on the
// hosts, and one for the server. So one nemesis is responsible for faults that must not
// coincide, such as those of the two killers.
type nemesis struct {
	c      *cell
	rand   *rand.Rand
	over   <-chan time.Time
	faults []fault
	length time.Duration // of the present fault
	thaw   clock.Instant // when the present fault ended to freeze a machine; 0: it is another
	victim int           // process id of the leaderrun that the present fault is for; 0 if none
	server bool          // harms the server, and so all hosts
	pause  span          // between two faults
}

// harass causes faults in a cell for a while, or none if none was selected. On a machine that
// is too busy it goes on until there has been one.
func harass(c *cell, length time.Duration, seed uint64) {
	over := make(chan time.Time)
	go func() {
		defer close(over)
		time.Sleep(length)
		select {
		case <-c.harmed:
		case <-time.After(patience):
		}
	}()
	selected := false
	var wg sync.WaitGroup
	for i, faults := range [][]fault{cutFaults(c), hostFaults(c), c.store.faults} {
		faults = slices.DeleteFunc(faults, func(f fault) bool { return !c.only.MatchString(f.name) })
		if len(faults) > 0 {
			selected = true
			n := &nemesis{c: c, rand: rand.New(rand.NewPCG(seed, stream(c.plan.name, -1-i))), over: over, faults: faults, server: i == 2, pause: pauses[i].times(c.plan.rests)}
			wg.Go(n.work)
		}
	}
	if c.spared = !selected; c.spared {
		c.harm()
	}
	wg.Wait()
	<-over
}

func (n *nemesis) work() {
	for {
		n.rand.Shuffle(len(n.faults), func(i, j int) { n.faults[i], n.faults[j] = n.faults[j], n.faults[i] })
		for _, f := range n.faults {
			n.length = n.pause.draw(n.rand)
			if !n.pass() {
				return
			}
			n.do(f)
		}
	}
}

// pauses are how long there is no fault of the network, of hosts, and of the server.
var pauses = [3]span{{500 * time.Millisecond, 4 * time.Second}, {100 * time.Millisecond, 3 * time.Second}, {time.Second, 8 * time.Second}}

// How long faults last: from hardly noticeable to the loss of the lock.
var (
	little = span{ttl / 50, ttl / 2}
	much   = span{ttl / 2, 2 * ttl}
)

// do does one fault.
func (n *nemesis) do(f fault) {
	n.length = pick(n.rand, []choice[span]{{60, little}, {40, much}}).draw(n.rand)
	e := trace.Entry{Kind: trace.Fault, What: f.name}
	var m *machine
	harmed := n.c.hosts
	if !n.server {
		m = n.target()
		harmed = []*machine{m}
		e.Host = m.name
		if p, ok := m.running(); ok {
			e.Leaderrun = p.PID
		}
	}
	for _, m := range harmed {
		m.busy(1)
		defer m.busy(-1)
	}
	n.victim, n.thaw = 0, 0
	if !n.server {
		n.c.calm.RLock()
		defer n.c.calm.RUnlock()
	}
	e.Call = clock.Boot{}.Now()
	n.c.begun.Add(1)
	n.c.present.Add(1)
	defer n.c.present.Add(-1)
	if !f.strike(n, m) {
		return
	}
	if n.victim != 0 { // not the leaderrun of a moment before
		e.Leaderrun = n.victim
	}
	e.Thaw = n.thaw
	n.c.note(e)
	n.c.harm()
}

// target is the host to be harmed: most often the leader. It waits a while until there is
// one, because harm that hits nobody shows nothing.
func (n *nemesis) target() *machine {
	any := n.c.hosts[n.rand.IntN(len(n.c.hosts))]
	if n.rand.IntN(100) < 30 {
		return any
	}
	for end := time.After(ttl); ; {
		now := host.Now()
		for _, m := range n.c.hosts {
			if p, ok := m.running(); ok && now.Look(p.PID).Job.PID != 0 {
				return m
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-end:
			return any
		case <-n.over:
			return any
		}
	}
}

// pass lets time pass while a fault lasts. It returns false if it is time to end.
func (n *nemesis) pass() bool {
	select {
	case <-time.After(n.length):
		return true
	case <-n.over:
		return false
	}
}

// must fails the test if harm, or undoing it, was not possible.
func (n *nemesis) must(err error) {
	if err != nil && !errors.Is(err, host.ErrGone) {
		n.c.t.Error(err)
	}
}
