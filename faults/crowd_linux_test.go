package faults

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// crowded is between the name of a host and the number of one of many leaderruns that are started
// there at once. The oracle takes each for a host, so that it knows whose processes are left.
const crowded = "+"

// startMany starts many leaderruns with -n on another host than the leader's within a second, as
// cron or a deployment may. Whoever gets the lock all the same runs a job that is judged as all
// others are. As long as the leader stays one and there is no other fault, nobody may.
func startMany(n *nemesis, m *machine) bool {
	other := n.c.hosts[n.rand.IntN(len(n.c.hosts))]
	run, ok := m.look(job)
	if !ok || other == m {
		return false
	}
	begun, alone := n.c.begun.Load(), n.c.present.Load() == 1
	crowd := make([]*machine, n.c.many+n.rand.IntN(n.c.many+1))
	statuses := make([]int, len(crowd))
	var all sync.WaitGroup
	for i := range crowd {
		crowd[i] = &machine{Host: other.Host, c: n.c, name: fmt.Sprint(other.name, crowded, i)}
		all.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / time.Duration(len(crowd)))
			statuses[i] = crowd[i].run(task{manner: "obedient", length: 50 * time.Millisecond, containment: "auto", options: []string{"-n"}})
			n.c.count(statuses[i])
		})
	}
	late := time.AfterFunc(most, func() {
		n.c.t.Errorf("some of %d leaderruns with -n do not end", len(crowd))
		for _, m := range crowd {
			if p, ok := m.running(); ok {
				n.must(m.Signal(p, unix.SIGKILL))
			}
		}
	})
	defer late.Stop()
	all.Wait()
	now, _ := m.look(job)
	if alone = alone && n.c.begun.Load() == begun && now.Job == run.Job; alone && slices.ContainsFunc(statuses, ran) {
		n.c.t.Errorf("host %s leads, and a leaderrun with -n on host %s did not end with 75: %v", m.name, other.name, statuses)
	}
	return true
}

// ran reports whether a leaderrun with -n had the lock. 69 is the answer of a busy machine.
func ran(status int) bool { return status != 75 && status != 69 }
