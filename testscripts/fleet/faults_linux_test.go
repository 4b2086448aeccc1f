package fleet

import (
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"
)

// ttl is the lease of services. Those of cron jobs are shorter.
const ttl = 6 * time.Second

// A fault is done to a service, its host, or its server.
type fault struct {
	name string
	// applies reports whether a store's fleet can have the fault.
	applies func(*store) bool
	// strike causes the fault, for a while if it is of that kind, and returns when it is
	// over.
	strike func(*services)
	// outage is set if the server is down for all hosts.
	outage bool
}

func always(*store) bool      { return true }
func served(s *store) bool    { return s.server != nil }
func freezable(s *store) bool { _, ok := s.server.(pauser); return ok }

// faults returns all faults.
func faults() []fault {
	return []fault{
		{name: "job killed", applies: always, strike: func(s *services) { s.strike(s.leader().PID, unix.SIGKILL) }},
		{name: "job failed", applies: always, strike: func(s *services) { s.strike(s.leader().PID, unix.SIGUSR1) }},
		{name: "job hung", applies: always, strike: (*services).sicken},
		{name: "leaderrun killed", applies: always, strike: func(s *services) { s.murder(s.leader().Leaderrun) }},
		{name: "guard killed", applies: always, strike: func(s *services) { s.strike(s.leader().Guard, unix.SIGKILL) }},
		{name: "waiting leaderrun killed", applies: always, strike: func(s *services) { s.murder(s.waiting()) }},
		{name: "leaderrun frozen", applies: always, strike: func(s *services) { s.freeze(s.leader().Leaderrun) }},
		{name: "guard frozen", applies: always, strike: func(s *services) { s.freeze(s.leader().Guard) }},
		{name: "server restarted", applies: served, outage: true, strike: func(s *services) {
			s.store.server.Stop()
			s.pass(upTo(s.rand, 2*time.Second))
			s.store.server.Start()
		}},
		{name: "server frozen", applies: freezable, outage: true, strike: func(s *services) {
			server := s.store.server.(pauser)
			server.Pause()
			s.pass(s.length())
			server.Resume()
		}},
		{name: "leader cut off", applies: served, strike: func(s *services) {
			p := s.store.proxies[s.host(s.leader())]
			p.CutAll()
			s.pass(s.length())
			p.Heal()
		}},
		{name: "all cut off", applies: served, outage: true, strike: func(s *services) {
			for _, p := range s.store.proxies {
				p.CutAll()
			}
			s.pass(s.length())
			for _, p := range s.store.proxies {
				p.Heal()
			}
		}},
		{name: "leader refused", applies: served, strike: func(s *services) {
			p := s.store.proxies[s.host(s.leader())]
			p.Refuse()
			s.pass(s.length())
			p.Heal()
		}},
		{name: "connections reset", applies: served, strike: func(s *services) {
			for _, p := range s.store.proxies {
				p.Reset()
			}
		}},
	}
}

// planFaults picks n faults for a store: each kind in turn, in an order that the seed
// decides. The first one certainly ends a term.
func planFaults(r *rand.Rand, s *store, n int) []fault {
	var kinds, all []fault
	for _, f := range faults() {
		if f.applies(s) {
			kinds = append(kinds, f)
		}
		if f.name == "leaderrun killed" {
			all = append(all, f)
		}
	}
	for len(all) < n {
		r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		all = append(all, kinds...)
	}
	return all[:n]
}

// length is how long a fault lasts: from hardly noticeable to the loss of the lock.
func (s *services) length() time.Duration { return ttl/6 + upTo(s.rand, 3*ttl/2) }

// pass lets time pass while a fault lasts.
func (s *services) pass(d time.Duration) { <-time.After(d) }

// murder kills a leaderrun, which has no chance to end its term.
func (s *services) murder(pid int) {
	s.murdered[pid] = true
	s.strike(pid, unix.SIGKILL)
}

func (s *services) freeze(pid int) {
	s.strike(pid, unix.SIGSTOP)
	s.pass(s.length())
	s.hit(pid, unix.SIGCONT)
}
