package votes

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A schedule is one run of a fleet: members that campaign, lead, renew and release, on hosts
// and in a network that do harm until the fleet heals. It follows from its seed.
type schedule struct {
	seed    uint64
	rand    *rand.Rand
	now     int64 // true time
	events  events
	healed  int64 // when; the time of what may go wrong before
	group   Group
	members []*member
	cut     [][]bool // from, to
	files   bool     // tokens survive in a file, not only by the date

	terms     []*lead // that are not over
	greatest  uint64
	elections int
	recovered int64 // the first moment after healed at which somebody leads
	trace     func(format string, args ...any)
	wrong     []string
}

// A member is a process in a seat: a voter and a candidate.
type member struct {
	seat, starts int
	clock        rate
	voter        *Voter
	candidate    *Candidate
	lead         *lead
	alive        bool
	frozen       int64  // until when
	file         uint64 // the greatest token, if schedule.files
	turn         int    // grows with each round and pause, so that older plans are dropped
}

// A lead is the time in which a candidate believes that it leads.
type lead struct {
	term Term
	end  int64
}

const (
	interval = int64(lease) / 5 // of renewals
	attempt  = int64(lease) / 10
	played   = 40 * int64(lease)
)

// newSchedule returns a schedule that has not been played.
func newSchedule(seed uint64) *schedule {
	s := &schedule{seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), healed: played * 3 / 4, trace: func(string, ...any) {}}
	s.group = Group{Seats: 3 + 2*s.rand.IntN(2), Longest: lease}
	s.files = s.rand.IntN(2) == 0
	for i := range s.group.Seats {
		ppm := []int64{-500, 500, s.rand.Int64N(1001) - 500}[s.rand.IntN(3)]
		s.members = append(s.members, &member{seat: i, clock: rate{s.rand.Int64N(int64(time.Hour)), ppm}})
		s.cut = append(s.cut, make([]bool, s.group.Seats))
	}
	return s
}

func (s *schedule) play() {
	for _, m := range s.members {
		s.after(s.upTo(int64(lease)), func() { s.start(m) })
	}
	s.after(s.upTo(int64(lease)), s.harm)
	s.after(s.healed, s.heal)
	for len(s.events) > 0 && s.now < played && len(s.wrong) == 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	if s.recovered == 0 && len(s.wrong) == 0 {
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

// on lets a process do something after a while, unless it has died by then. A frozen one
// does it when it continues.
func (s *schedule) on(m *member, d int64, do func()) {
	starts := m.starts
	var run func()
	run = func() {
		switch {
		case !m.alive || m.starts != starts:
		case s.now < m.frozen:
			s.after(m.frozen-s.now+s.upTo(1000), run)
		default:
			do()
		}
	}
	s.after(d, run)
}

// start starts a process in a seat. It knows nothing but the file, or the date.
func (s *schedule) start(m *member) {
	if m.alive {
		return
	}
	m.starts++
	m.alive, m.frozen, m.lead = true, 0, nil
	floor := uint64(s.now / 1000)
	if s.files {
		floor = m.file
	}
	id := fmt.Sprintf("%d.%d", m.seat, m.starts)
	m.voter = NewVoter(id, s.group, m.clock.at(s.now), floor)
	m.candidate, _ = NewCandidate(id, s.group, lease)
	s.trace("%s starts", id)
	s.pause(m)
}

// pause lets a member campaign after a random pause.
func (s *schedule) pause(m *member) {
	s.turn(m, s.upTo(int64(lease)/4), func() {
		m.candidate.Campaign()
		s.ask(m)
	})
}

// turn plans what a member does next, instead of what was planned before.
func (s *schedule) turn(m *member, d int64, do func()) {
	m.turn++
	turn := m.turn
	s.on(m, d, func() {
		if m.turn == turn {
			do()
		}
	})
}

// ask begins a round, or ends the term.
func (s *schedule) ask(m *member) {
	a, ok := m.candidate.Ask(m.clock.at(s.now))
	if !ok {
		s.end(m)
		return
	}
	s.toAll(m, Message{Ask: &a})
	s.turn(m, attempt, func() {
		if m.lead == nil {
			s.end(m)
		} else {
			s.ask(m)
		}
	})
}

// end ends a term or a campaign.
func (s *schedule) end(m *member) {
	w := m.candidate.Withdraw()
	s.trace("%v ends", w.Term)
	if m.lead != nil {
		m.lead.end, m.lead = min(m.lead.end, s.now), nil
	}
	s.toAll(m, Message{Withdrawal: &w})
	s.pause(m)
}

// count counts an answer.
func (s *schedule) count(m *member, a *Answer) {
	switch c := m.candidate; c.Count(m.clock.at(s.now), *a) {
	case Won:
		if leads(c, m.clock.at(s.now)) {
			s.won(m)
			s.turn(m, interval, func() { s.ask(m) })
		} else {
			s.ask(m)
		}
	case Refused:
		if m.lead == nil {
			s.end(m)
		}
	case Ghost:
		s.send(m, a.Voter, Message{Withdrawal: &Withdrawal{a.Term}})
	case Crowded:
		s.fail("%v sees too many voters", c.term)
	}
}

// won checks the promises when a term begins or is renewed.
func (s *schedule) won(m *member) {
	s.terms = slices.DeleteFunc(s.terms, func(l *lead) bool { return l.end <= s.now && l != m.lead })
	for _, l := range s.terms {
		if l != m.lead {
			s.fail("%v leads until %v, and %v too", l.term, time.Duration(l.end), m.candidate.term)
		}
	}
	end := m.clock.first(m.candidate.deadline)
	if m.lead != nil {
		if m.lead.end <= s.now {
			s.fail("%v is renewed after its end at %v", m.lead.term, time.Duration(m.lead.end))
		}
		m.lead.end = end
	} else {
		s.begin(m, end)
	}
	if s.now >= s.healed && s.recovered == 0 {
		s.recovered = s.now
	}
}

// begin notes that a term begins.
func (s *schedule) begin(m *member, end int64) {
	c := m.candidate
	s.trace("%v leads with token %d", c.term, c.token)
	if c.token <= s.greatest {
		s.fail("%v has token %d, after %d", c.term, c.token, s.greatest)
	}
	s.greatest = c.token
	s.elections++
	m.lead = &lead{c.term, end}
	s.terms = append(s.terms, m.lead)
	if term := c.term; s.rand.IntN(4) > 0 {
		s.on(m, s.upTo(3*int64(lease)), func() {
			if m.lead != nil && m.lead.term == term {
				s.end(m)
			}
		})
	}
}

// receive handles a message.
func (s *schedule) receive(m *member, msg Message) {
	switch now := m.clock.at(s.now); {
	case msg.Ask != nil:
		a := m.voter.Vote(now, *msg.Ask)
		m.file = m.voter.Token()
		s.trace("%s votes %v, %q, round %d", a.Voter, a.Term, a.Vote, a.Round)
		s.send(m, a.Term.Candidate, Message{Answer: &a})
	case msg.Withdrawal != nil:
		m.voter.Withdraw(*msg.Withdrawal)
	case msg.Answer != nil:
		s.count(m, msg.Answer)
	}
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
