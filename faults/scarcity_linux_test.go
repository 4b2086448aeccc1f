package faults

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/host"
)

// starve leaves a host less than it uses: leaderrun, its helper and a job that records
// that it is alive need some 4 % of a CPU.
func starve(n *nemesis, m *machine) bool {
	defer contention.hold()()
	n.must(m.Starve(1 + n.rand.IntN(3)))
	n.pass()
	n.must(m.Feed())
	return true
}

func fillDisk(n *nemesis, m *machine) bool {
	n.must(m.FillDisk())
	n.pass()
	n.must(m.FreeDisk())
	return true
}

// limitTasks leaves a host few more tasks, or none, than those of a leaderrun whose job
// runs, and then kills one process, or none. The next leaderrun is not started while that
// lasts: Go needs threads to start a program.
func limitTasks(name string, who ...victim) fault {
	return fault{name, func(n *nemesis, m *machine) bool {
		m.room.Lock()
		defer m.room.Unlock()
		run, ok := m.look(leaderrun, guard, job)
		if !ok {
			return false
		}
		n.must(m.LimitTasks(n.rand.IntN(10)))
		n.length = min(n.length, ttl) / 2
		n.pass()
		n.hit(m, run, unix.SIGKILL, who...) // it may have ended by itself
		n.pass()
		n.must(m.LiftTasks())
		return true
	}}
}

// outOfMemory is the name of a fault. The oracle takes every leaderrun that this strikes and that
// ends with SIGKILL for killed. Some only report that their job was: nothing could outlive them,
// because such a job is alone.
const outOfMemory = "out of memory: leaderrun or others killed"

// exhaustMemory makes the kernel kill one or more processes of a host, of its own choice. If these
// are leaderrun and its guard, nobody is left to kill a job of several processes.
func exhaustMemory(n *nemesis, m *machine) bool {
	m.room.Lock()
	defer m.room.Unlock()
	run, ok := m.look(leaderrun, guard, job)
	if !ok {
		return false
	}
	if k, ok := m.works(run.Leaderrun); !ok || !k.alone() {
		return false
	}
	n.victim = run.Leaderrun.PID
	killed, err := m.ExhaustMemory([]int{1, 2, 4, 16}[n.rand.IntN(4)])
	n.must(err)
	return killed > 0
}

// exhaust leaves leaderrun, its guard and its helper no descriptor. They would not
// notice, because everything they need is open. So connections are first reset, and
// refused until there is no descriptor for new ones.
func exhaust(n *nemesis, m *machine) bool {
	run, ok := m.look(leaderrun)
	if !ok {
		return false
	}
	all := []host.Process{run.Leaderrun, run.Guard, run.Helper}
	m.Refuse()
	lasts := n.length
	n.length = 50 * time.Millisecond // to notice, and close
	n.pass()
	n.length = lasts
	for _, p := range all {
		n.must(m.ExhaustFiles(p))
	}
	m.Heal()
	n.pass()
	for _, p := range all {
		n.must(m.RestoreFiles(p))
	}
	return true
}
