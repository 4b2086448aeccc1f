package votes

import (
	"fmt"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A host has clocks, and maybe a seat.
type host struct {
	number  int
	kernel  kernel
	count   func(kernel) int64
	boots   int
	resumes int64 // when it resumes from suspend
	readers []*reader
	seats   []*seat // one at most, as a rule
}

// A process may die and start again.
type process struct {
	host   *host
	alive  bool
	life   int // how often it was started
	frozen int64
	reader *reader
}

// A seat is where a voter stands. All but its process stays when it has died.
type seat struct {
	process
	list    *list
	index   int
	voter   *Voter
	ids     int
	kept    *kept
	older   *kept  // what was kept some time before
	file    uint64 // the greatest token, if schedule.files
	retired bool   // it was stopped for good
}

// What is kept of a voter, in a store that is emptied at each boot.
type kept struct {
	boots   int
	id      string
	group   Group
	opens   clock.Instant
	promise Promise
}

// born starts a process.
func (s *schedule) born(p *process) {
	p.life++
	p.alive, p.frozen = true, 0
	p.reader = &reader{p.host, s.rand.Int64N(int64(delta))}
	p.host.readers = append(p.host.readers, p.reader)
}

// on lets a process do something after a while, unless it has died by then. A frozen one
// does it when it continues.
func (s *schedule) on(p *process, d int64, do func()) {
	life := p.life
	var run func()
	run = func() {
		switch until := max(p.frozen, p.host.resumes); {
		case !p.alive || p.life != life:
		case s.now < until:
			s.after(until-s.now+s.upTo(1000), run)
		default:
			do()
		}
	}
	s.after(d, run)
}

// stand starts a voter in a seat.
func (s *schedule) stand(v *seat) {
	if v.alive || v.retired {
		return
	}
	s.born(&v.process)
	k, floor := v.kept, uint64(s.now/1000)
	if s.files {
		floor = v.file
	}
	if f := s.flaws; k != nil && (k.boots == v.host.boots || f.keepsForever) && (k.group == v.list.group || f.anyGroup) {
		opens := k.opens
		if f.forgetsOpens {
			opens = 0
		}
		v.voter = NewVoter(k.id, v.index, v.list.group, opens, floor)
		if k.group == v.list.group {
			v.voter.Continue(k.promise)
		}
		s.trace("%s continues", k.id)
	} else {
		v.ids++
		id := fmt.Sprintf("%d/%d.%d", v.host.number, v.index, v.ids)
		opens := v.reader.at(s.now).Add(v.list.group.Longest)
		if f.noWait {
			opens = 0
		}
		v.voter = NewVoter(id, v.index, v.list.group, opens, floor)
		s.trace("%s starts", id)
	}
	s.keep(v)
}

// keep writes what another voter needs to continue this one.
func (s *schedule) keep(v *seat) {
	if v.older == nil || s.rand.IntN(8) == 0 {
		v.older = v.kept
	}
	v.kept = &kept{v.host.boots, v.voter.id, v.voter.group, v.voter.opens, v.voter.Promise()}
	v.file = v.voter.Token()
}

// receive handles a request.
func (s *schedule) receive(v *seat, msg Message) {
	switch now := v.reader.at(s.now); {
	case msg.Ask != nil:
		a := v.voter.Vote(now, *msg.Ask)
		s.trace("%s votes %v, %q, round %d", a.Voter, a.Term, a.Vote, a.Round)
		if s.flaws.keepsLate && s.chance(8) {
			v.alive = false
			s.stand(v)
		} else {
			s.keep(v)
		}
		s.answer(v, &a)
	case msg.Withdrawal != nil:
		v.voter.Withdraw(*msg.Withdrawal)
		s.keep(v)
	}
}

// answer sends an answer, if the run still lives when it arrives.
func (s *schedule) answer(v *seat, a *Answer) {
	r := s.runs[a.Term.Candidate[0]-'0']
	s.carry(v.host, r.host, func() {
		if r.alive && r.candidate.term.Candidate == a.Term.Candidate {
			s.on(&r.process, 0, func() { s.count(r, a) })
		}
	})
}

// tell tells a voter that a term has ended.
func (s *schedule) tell(v *seat, l *lead, token uint64) {
	if !v.voter.End(v.reader.at(s.now), token) {
		return
	}
	if s.flaws.endFrees {
		v.voter.bound, v.voter.until = Term{}, 0
	}
	s.keep(v)
	if l.stopped == nil {
		l.stopped = map[int]int64{}
	}
	l.stopped[v.host.number] = s.now
}
