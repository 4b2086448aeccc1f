package faults

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	tiers "github.com/leaderrun/leaderrun/runner/guard"
)

// A task is a job with the way to run it.
type task struct {
	manner      string // of testdata/subject
	length      time.Duration
	containment string
	options     []string
	priority    string        // of --priority, unless it is a service; "" without it
	spare       int           // how many more tasks a job may have, at a limit of tasks
	service     time.Duration // how long it is run as a service; 0: it is not
	stop        time.Duration // when somebody stops it, if it is no service; 0: nobody does
}

// A choice is one of several, with its percentage.
type choice[T any] struct {
	share int
	value T
}

// pick chooses by percentages, which add up to 100.
func pick[T any](r *rand.Rand, all []choice[T]) (value T) {
	n := r.IntN(100)
	for _, c := range all {
		if n -= c.share; n < 0 {
			return c.value
		}
	}
	panic("the percentages add up to less than 100")
}

// A span is a range of durations.
type span [2]time.Duration

func (s span) draw(r *rand.Rand) time.Duration {
	return s[0] + time.Duration(r.Int64N(int64(s[1]-s[0])))
}

func (s span) times(n int) span {
	return span{s[0] * time.Duration(max(n, 1)), s[1] * time.Duration(max(n, 1))}
}

var (
	brief = span{20 * time.Millisecond, 300 * time.Millisecond}
	long  = span{ttl / 5, 2 * ttl}
)

// A manner is how a job works, and for how long.
type manner struct {
	name string
	long span
}

// manners are all manners: most jobs are short, so that the lock changes hands often, and
// some outlast most faults.
var manners = []choice[manner]{
	{37, manner{"obedient", brief}}, {10, manner{"obedient", long}},
	{5, manner{"failing", brief}},
	{4, manner{"leaving", brief}}, {3, manner{"leaving", long}},
	{4, manner{"forking", brief}}, {3, manner{"forking", long}},
	{4, manner{"deaf", brief}}, {4, manner{"deaf", long}},
	{3, manner{"stopping", brief}}, {3, manner{"suspended", long}},
	{2, manner{"headless", brief}}, {2, manner{"headless", long}}, {2, manner{"detaching", long}},
	{1, manner{"crowding", brief}}, {2, manner{"crowding", long}},
	{1, manner{"flapping", brief}}, {2, manner{"flapping", long}},
	{2, manner{hiding, long}}, {4, manner{"pooling", long}}, {2, manner{"draining", long}},
}

// draw draws the next task of a host, from those manners whose names match.
func (m *machine) draw() task {
	p, r, jobs := m.c.plan, m.rand, m.c.jobs
	how := pick(r, manners)
	for !jobs.MatchString(how.name) {
		how = pick(r, manners)
	}
	if m.peer() != nil && (several(how.name) || slices.Contains([]string{"stopping", "suspended", "draining"}, how.name)) {
		how.name = "obedient" // a peer leaves the former behind, and waits forever for the latter
	}
	k := task{
		manner: how.name, length: how.long.draw(r),
		containment: contained(r, how.name), spare: r.IntN(20),
		options: pick(r, []choice[[]string]{
			{80, nil}, {5, []string{"-n"}}, {10, []string{"-w", "2"}},
			{5, []string{"--restart", "on-failure", "--restart-delay", "0.05", "--give-up-after", "2"}},
		}),
	}
	if p.ranked || (p.backend == "etcd" || p.backend == "zookeeper") && !p.unfair && p.slots == 0 && r.IntN(10) == 0 {
		k.priority = strconv.Itoa(r.IntN(10))
	}
	if p.drains { // a third each is asked to end by its own limit, by whoever stops leaderrun, and only by operators
		k.manner, k.length, k.options = "draining", long.draw(r), nil
		k.stop = pick(r, []choice[time.Duration]{{33, 0}, {33, span{ttl, 8 * ttl}.draw(r)}, {34, time.Hour}})
	} else if r.IntN(10) == 0 && p.once == "" && !p.ranked {
		k.service = span{ttl, 4 * ttl}.draw(r)
	}
	return k
}

// hiding is the manner of a job that leaves a process behind that /proc hides, if that is
// possible.
const hiding = "hiding"

// several reports whether such a job has several processes.
func several(manner string) bool {
	return leavesGroup(manner) || manner == "flapping" || manner == "pooling"
}

// leavesGroup reports whether some of its processes leave its group.
func leavesGroup(manner string) bool {
	return slices.Contains([]string{"leaving", "detaching", "forking", "crowding", hiding}, manner)
}

// contained draws a tier. Tiers that are not available here, or that cannot contain such a
// job, are not drawn.
func contained(r *rand.Rand, manner string) string {
	tier := pick(r, []choice[string]{{50, "auto"}, {20, "subreaper"}, {20, "pidns"}, {5, "pgroup"}, {5, "cgroup"}})
	best, _ := tiers.Best()
	if tier == "cgroup" && best != tiers.Cgroup || tier == "pgroup" && leavesGroup(manner) {
		return "auto"
	}
	return tier
}

// alone reports whether one killer would do, because the kernel ends the job with its
// guard.
func (k task) alone() bool {
	return k.containment == "pidns" || !several(k.manner)
}

// stream numbers the sources of random numbers of a cell.
func stream(cell string, i int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(cell + strconv.Itoa(i)))
	return h.Sum64()
}
