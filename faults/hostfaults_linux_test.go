package faults

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/host"
	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// cutFaults returns the faults that harm and heal the network of a cell's hosts. They
// have one nemesis, because healing one fault heals them all.
func cutFaults(c *cell) (all []fault) {
	if c.store.members {
		return append(memberFaults(), fault{exhausted, exhaust})
	}
	if len(c.store.servers) == 0 {
		return nil
	}
	all = networkFaults()
	if c.store.http {
		all = append(all, unableConnections)
	}
	if c.hosts[0].Network() == host.Namespace {
		all = append(all, packetFaults()...)
	}
	if c.hosts[1].aliased() {
		all = append(all, fault{"first address dead", loseAlias})
	}
	if len(c.store.servers) > 1 && !c.store.own {
		all = append(all, fault{"one server cut off", cutOne})
	}
	return append(all, fault{exhausted, exhaust}) // exhaust heals the network
}

// hostFaults returns all other faults of its hosts.
func hostFaults(c *cell) (all []fault) {
	if c.plan.peer == nil {
		all = append(all, processFaults(c.store.leases())...)
	} else {
		all = append(all, peerFaults()...)
	}
	for _, f := range []struct {
		needs string
		fault
	}{{host.CPU, fault{"little CPU", starve}}, {host.Space, fault{"disk full", fillDisk}}} {
		if c.hosts[0].Lacks()[f.needs] == nil {
			all = append(all, f.fault)
		}
	}
	if c.plan.peer == nil && c.hosts[0].Lacks()[host.Tasks] == nil {
		all = append(all, limitTasks("limit of tasks"), limitTasks("limit of tasks, leaderrun killed", leaderrun),
			limitTasks("limit of tasks, guard killed", guard), limitTasks("limit of tasks, job killed", job))
	}
	if c.plan.peer == nil && c.hosts[0].Lacks()[host.Memory] == nil {
		all = append(all, fault{outOfMemory, exhaustMemory})
	}
	if c.plan.peer == nil && c.store.leases() && c.hosts[0].Lacks()[host.Freezing] == nil {
		all = append(all, fault{machineFrozen, freezeMachine})
	}
	if c.plan.crowds {
		all = append(all, fault{"many started at once", startMany})
	}
	if !c.plan.shown() && c.plan.slots == 0 {
		all = append(all, fault{oracle.AskedToResign, askToResign})
	}
	if c.plan.strict || c.plan.backend == "quorum" { // elsewhere the next term may begin before the job is killed
		all = append(all, fault{oracle.TakenAway, takeAway})
	}
	if !c.store.leases() {
		all = append(all, fault{exhausted, exhaust})
	}
	return all
}

// exhausted is the name of a fault: a leaderrun without descriptors can still renew, but
// cannot answer its job.
const exhausted = "descriptors exhausted"

// A frozen leaderrun cannot answer its job either.
const (
	frozen     = "leaderrun frozen"
	jobFrozen  = "job frozen" // and with it whoever learns of renewals; its children run on
	frozenBoth = "leaderrun and helper frozen"
)

// cutting returns the names of faults that leave a host without a server.
func cutting() (names []string) {
	for _, f := range append(append(networkFaults(), unableConnections), memberFaults()...) {
		names = append(names, f.name)
	}
	return names
}

// networkFaults returns the faults of connections, which a proxy causes.
func networkFaults() []fault {
	return []fault{
		during("connections stalled", func(m *machine) { m.each((*faultproxy.Proxy).CutAll) }),
		during("requests stalled", func(m *machine) { m.each((*faultproxy.Proxy).CutRequests) }),
		during("replies stalled", func(m *machine) { m.each((*faultproxy.Proxy).CutReplies) }),
		during("connections refused", (*machine).Refuse),
		{"connections reset", func(_ *nemesis, m *machine) bool { m.Reset(); return true }},
		{"connections frozen", func(_ *nemesis, m *machine) bool { m.each((*faultproxy.Proxy).Silence); return true }},
		during("requests torn", func(m *machine) { m.each((*faultproxy.Proxy).SeverRequests) }),
		during("replies torn", func(m *machine) { m.each((*faultproxy.Proxy).SeverReplies) }),
		during("jitter", func(m *machine) { m.each(func(p *faultproxy.Proxy) { p.Jitter(ttl / 10) }) }),
		during("few bytes a second", func(m *machine) { m.each(func(p *faultproxy.Proxy) { p.Throttle(2000) }) }),
		delay("delay", (*faultproxy.Proxy).Delay),
		delay("requests delayed", (*faultproxy.Proxy).DelayRequests),
		delay("replies delayed", (*faultproxy.Proxy).DelayReplies),
	}
}

// unableConnections is a fault of connections over HTTP/1.1. As if one address led to several
// servers, the present connections are bad for good, as they are after "connections reset" and
// "connections frozen", and new ones are good.
var unableConnections = fault{"connections answer 503", func(_ *nemesis, m *machine) bool { m.each((*faultproxy.Proxy).Unable); return true }}

// delay holds back data, for anything from a short moment to two leases.
func delay(name string, by func(*faultproxy.Proxy, time.Duration)) fault {
	return fault{name, func(n *nemesis, m *machine) bool {
		delays := []time.Duration{ttl / 20, ttl / 8, ttl / 2, ttl, 2 * ttl}
		d := delays[n.rand.IntN(len(delays))]
		m.each(func(p *faultproxy.Proxy) { by(p, d) })
		n.pass()
		m.Heal()
		return true
	}}
}

// packetFaults returns the faults of packets, which are lost silently.
func packetFaults() []fault {
	return []fault{
		during("blackhole", (*machine).Blackhole),
		during("request packets lost", (*machine).BlackholeRequests),
		during("reply packets lost", (*machine).BlackholeReplies),
	}
}

// during returns a fault of the network that lasts.
func during(name string, begin func(*machine)) fault {
	return fault{name, func(n *nemesis, m *machine) bool {
		begin(m)
		n.pass()
		m.Heal()
		return true
	}}
}

func (m *machine) each(f func(*faultproxy.Proxy)) {
	for _, s := range m.c.store.servers {
		f(m.Proxy(s))
	}
}

// loseAlias makes the first address that a host names a black hole. The others lead to servers.
func loseAlias(n *nemesis, m *machine) bool {
	if !m.aliased() {
		return false
	}
	m.LoseAlias()
	n.pass()
	m.Heal()
	return true
}

func cutOne(n *nemesis, m *machine) bool {
	servers := n.c.store.servers
	m.Proxy(servers[n.rand.IntN(len(servers))]).CutAll()
	n.pass()
	m.Heal()
	return true
}

// The processes that a fault is for.
func leaderrun(r host.Run) host.Process { return r.Leaderrun }
func guard(r host.Run) host.Process     { return r.Guard }
func helper(r host.Run) host.Process    { return r.Helper }
func job(r host.Run) host.Process       { return r.Job }

type victim func(host.Run) host.Process

// processFaults kill and freeze leaderrun's processes. Freezing both killers of the job
// is left out, and so is killing both if the job is not one process: see the report.
func processFaults(helped bool) []fault {
	all := []fault{
		kill("leaderrun killed", leaderrun), kill("guard killed", guard), kill("job killed", job),
		freeze(frozen, leaderrun), freeze("guard frozen", guard), freeze(jobFrozen, job),
		{"leaderrun and guard killed", func(n *nemesis, m *machine) bool {
			run, ok := m.look(leaderrun, guard)
			if !ok {
				return false
			}
			k, ok := m.works(run.Leaderrun)
			return ok && k.alone() && n.hit(m, run, unix.SIGKILL, leaderrun, guard)
		}},
	}
	if helped {
		all = append(all,
			kill("helper killed", helper), freeze("helper frozen", helper),
			kill("leaderrun and helper killed", leaderrun, helper), freeze(frozenBoth, leaderrun, helper),
			kill("guard and helper killed", guard, helper), freeze("guard and helper frozen", guard, helper),
		)
	}
	return all
}

// peerFaults returns the same faults for a peer, which is one process.
func peerFaults() []fault {
	return []fault{kill("leaderrun killed", leaderrun), freeze(frozen, leaderrun)}
}

func kill(name string, who ...victim) fault {
	return fault{name, func(n *nemesis, m *machine) bool {
		run, ok := m.look(who...)
		return ok && n.hit(m, run, unix.SIGKILL, who...)
	}}
}

func freeze(name string, who ...victim) fault {
	return fault{name, func(n *nemesis, m *machine) bool {
		run, ok := m.look(who...)
		if !ok || !n.hit(m, run, unix.SIGSTOP, who...) {
			return false
		}
		n.pass()
		for _, v := range who {
			n.must(m.Signal(v(run), unix.SIGCONT))
		}
		return true
	}}
}

// hit signals processes of a leaderrun, and reports whether any of them still existed.
func (n *nemesis) hit(m *machine, run host.Run, sig unix.Signal, who ...victim) (hit bool) {
	n.victim = run.Leaderrun.PID
	for _, v := range who {
		err := m.Signal(v(run), sig)
		n.must(err)
		hit = hit || err == nil
	}
	return hit
}

// look finds the processes of the running leaderrun.
func (m *machine) look(who ...victim) (r host.Run, ok bool) {
	p, ok := m.running()
	if !ok {
		return r, false
	}
	r = host.Now().Look(p.PID)
	for _, v := range who {
		ok = ok && v(r).PID != 0
	}
	return r, ok
}

// machineFrozen is the name of a fault: whatever would kill the job does not run either. How long
// the job lives when the machine continues is judged.
const machineFrozen = "machine frozen"

func freezeMachine(n *nemesis, m *machine) bool {
	n.must(m.Freeze())
	n.pass()
	n.thaw = clock.Boot{}.Now()
	n.must(m.Thaw())
	n.length = 2 * time.Second // while it lasts, no job ends by itself: it must be killed
	n.pass()
	return true
}
