package votes

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// A schedule is one run of a fleet: voters that stand, and runs that campaign, lead, renew and
// release, on hosts and in a network that do harm until the fleet heals. It follows from its seed.
type schedule struct {
	rand    *rand.Rand
	now     int64 // true time
	events  events
	healed  int64 // when; the time of what may go wrong before
	calm    int64 // at most, between two faults
	hosts   []*host
	runs    []*run
	cut     [][]bool // from, to
	files   bool     // tokens survive in a file, not only by the date
	flaws   flaws
	waiting bool // for somebody who leads after the faults

	leads     []*lead // that are not over
	greatest  uint64
	elections int
	recovered int64 // the first moment after healed at which somebody leads
	evictions int
	doubts    int
	trace     func(format string, args ...any)
	wrong     []string
}

// Flaws are what voters or hosts do although they must not.
type flaws struct {
	forgetsOpens bool // a voter that continues promises does not continue to abstain
	keepsLate    bool // a promise is written after the answer was sent
	keepsForever bool // promises survive a boot, as they were some time before
	anyGroup     bool // a voter of another group continues, without its votes
	endFrees     bool // a voter that is told that a term has ended is free
	noWait       bool // a voter that has lost its promises votes at once
	twice        bool // two voters are in one seat
	count        func(kernel) int64
}

// A list is a group, and the hosts of its seats.
type list struct {
	group Group
	hosts []int
}

// A lead is the time in which a run believes that it leads, also if it has died: then the job may
// live until E.
type lead struct {
	candidate *Candidate
	term      Term
	reader    *reader
	ended     bool
	stopped   map[int]int64 // hosts whose voters were told that it has ended, and when
}

func (l *lead) lives(t int64) bool {
	return !l.ended && l.candidate.term == l.term && leads(l.candidate, l.reader.at(t))
}

const (
	interval = int64(lease) / 5 // of renewals
	attempt  = int64(lease) / 10
	played   = 40 * int64(lease)
)

// newSchedule returns a schedule that has not been played. Each of the first hosts has a seat.
func newSchedule(seed uint64, hosts, seats, runs int, f flaws) *schedule {
	s := &schedule{rand: rand.New(rand.NewPCG(seed, 1)), healed: played * 3 / 4, flaws: f, waiting: true, trace: func(string, ...any) {}}
	if s.flaws.count == nil {
		s.flaws.count = steady
	}
	s.files, s.calm = s.rand.IntN(2) == 0, int64(lease)/(1+s.rand.Int64N(4))
	all := &list{group: Group{Seats: seats, Longest: lease, List: "old"}}
	for i := range hosts {
		h := &host{number: i, count: s.flaws.count, kernel: kernel{raw: s.upTo(int64(time.Hour))}}
		s.rates(h)
		s.hosts = append(s.hosts, h)
		s.cut = append(s.cut, make([]bool, hosts))
		if i < seats {
			all.hosts = append(all.hosts, i)
			h.seats = []*seat{{process: process{host: h}, list: all, index: i}}
		}
	}
	if f.twice {
		s.hosts[seats].seats = []*seat{{process: process{host: s.hosts[seats]}, list: all}}
	}
	for i := range runs {
		s.runs = append(s.runs, &run{process: process{host: s.hosts[s.rand.IntN(hosts)]}, number: i, list: all})
	}
	return s
}

// rates chooses how wrong the clocks of a host are from now on: CLOCK_MONOTONIC_RAW by 500 ppm,
// and the others while the date is corrected.
func (s *schedule) rates(h *host) {
	h.kernel = h.kernel.at(s.now)
	h.kernel.ppm = []int64{-500, 500, s.rand.Int64N(1001) - 500}[s.rand.IntN(3)]
	h.kernel.slew = []int64{-100_000, 100_000, s.rand.Int64N(200_001) - 100_000}[s.rand.IntN(3)]
}

func (s *schedule) play() {
	for _, h := range s.hosts {
		for _, v := range h.seats {
			s.after(s.upTo(int64(lease)), func() { s.stand(v) })
		}
	}
	for _, r := range s.runs {
		s.after(s.upTo(int64(lease)), func() { s.begin(r) })
	}
	s.after(s.upTo(s.calm), s.harm)
	s.after(s.healed, s.heal)
	for len(s.events) > 0 && s.now < played && len(s.wrong) == 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	if s.waiting && s.recovered == 0 && len(s.wrong) == 0 {
		s.fail("nobody leads after the faults")
	}
}

func (s *schedule) fail(format string, args ...any) {
	s.trace(format, args...)
	s.wrong = append(s.wrong, fmt.Sprintf("at %v: ", time.Duration(s.now))+fmt.Sprintf(format, args...))
}

// upTo returns a random time in [1, n].
func (s *schedule) upTo(n int64) int64 { return 1 + s.rand.Int64N(n) }

// chance reports true once in n, until the fleet heals.
func (s *schedule) chance(n int) bool { return s.now < s.healed && s.rand.IntN(n) == 0 }

func (s *schedule) after(d int64, do func()) {
	heap.Push(&s.events, event{s.now + d, s.rand.Uint32(), do})
}

// An event happens at a moment; those of the same moment in any order.
type event struct {
	at    int64
	order uint32
	do    func()
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
