package votes

import (
	"fmt"
	"slices"
	"time"
)

// A run is a process with a candidate. It never votes.
type run struct {
	process
	number    int
	list      *list
	candidate *Candidate
	lead      *lead
	sent      int64 // when the round under way was sent
	turn      int   // grows with each round and pause, so that older plans are dropped
}

// begin starts the process.
func (s *schedule) begin(r *run) {
	if r.alive {
		return
	}
	s.born(&r.process)
	id := fmt.Sprintf("%d.%d", r.number, r.life)
	r.lead = nil
	r.candidate, _ = NewCandidate(id, r.list.group, r.list.group.Longest)
	s.trace("%s starts", id)
	s.pause(r)
}

// pause lets a run campaign after a random pause.
func (s *schedule) pause(r *run) {
	s.plan(r, s.upTo(int64(lease)/4), func() {
		r.candidate.Campaign()
		s.ask(r)
	})
}

// plan plans what a run does next, instead of what was planned before.
func (s *schedule) plan(r *run, d int64, do func()) {
	r.turn++
	turn := r.turn
	s.on(&r.process, d, func() {
		if r.turn == turn {
			do()
		}
	})
}

// ask begins a round, or ends the term.
func (s *schedule) ask(r *run) {
	a, ok := r.candidate.Ask(r.reader.at(s.now))
	if !ok {
		s.end(r)
		return
	}
	r.sent = s.now
	s.toAll(r, Message{Ask: &a})
	s.plan(r, attempt, func() {
		if r.lead == nil {
			s.end(r)
		} else {
			s.ask(r)
		}
	})
}

// end ends a term or a campaign: nothing of the job is left.
func (s *schedule) end(r *run) {
	if r.lead != nil {
		r.lead.ended, r.lead = true, nil
	}
	w := r.candidate.Withdraw()
	s.trace("%v ends", w.Term)
	s.toAll(r, Message{Withdrawal: &w})
	s.pause(r)
}

// count counts an answer.
func (s *schedule) count(r *run, a *Answer) {
	c, now := r.candidate, r.reader.at(s.now)
	outcome := c.Count(now, *a)
	if a.Seat < len(r.list.hosts) && c.seats[a.Seat].doubted > now {
		s.doubts++
	}
	switch outcome {
	case Won:
		if leads(c, now) {
			s.won(r)
			s.plan(r, interval, func() { s.ask(r) })
		} else {
			s.ask(r)
		}
	case Refused:
		if r.lead == nil {
			s.end(r)
		}
	case Evicted:
		if r.lead != nil {
			s.trace("%v is evicted", c.term)
			s.evictions++
			if r.lead.stopped == nil {
				s.fail("%v is evicted, and nobody has ended it", c.term)
			}
		}
		s.end(r)
	case Ghost:
		if a.Seat < len(r.list.hosts) {
			s.transmit(r.host, s.hosts[r.list.hosts[a.Seat]], Message{Withdrawal: &Withdrawal{a.Term}})
		}
	}
}

// won checks what was promised when a term begins or is renewed.
func (s *schedule) won(r *run) {
	s.leads = slices.DeleteFunc(s.leads, func(l *lead) bool { return l != r.lead && !l.lives(s.now) })
	for _, l := range s.leads {
		if l != r.lead {
			s.fail("%v leads until %v on its clock, and %v too", l.term, time.Duration(l.candidate.deadline), r.candidate.term)
		}
	}
	switch c := r.candidate; {
	case r.lead == nil:
		s.elected(r)
	case s.stopped(r.lead, r.list) < r.sent:
		s.fail("%v is renewed after a majority was told that it has ended", c.term)
	}
	if s.now >= s.healed && s.recovered == 0 {
		s.recovered = s.now
	}
}

// stopped returns when a majority had been told that the term has ended.
func (s *schedule) stopped(l *lead, all *list) int64 {
	var told []int64
	for _, h := range all.hosts {
		if at, ok := l.stopped[h]; ok {
			told = append(told, at)
		}
	}
	slices.Sort(told)
	if n := all.group.Majority(); len(told) >= n {
		return told[n-1]
	}
	return played
}

// elected notes that a term begins.
func (s *schedule) elected(r *run) {
	c := r.candidate
	s.trace("%v leads with token %d", c.term, c.token)
	if c.token <= s.greatest {
		s.fail("%v has token %d, after %d", c.term, c.token, s.greatest)
	}
	s.greatest = c.token
	s.elections++
	r.lead = &lead{candidate: c, term: c.term, reader: r.reader}
	s.leads = append(s.leads, r.lead)
	l, token := r.lead, c.token
	switch s.rand.IntN(8) {
	case 0, 1:
	case 2:
		s.after(s.upTo(2*int64(lease)), func() { s.stop(l, token, r.list) })
	default:
		s.on(&r.process, s.upTo(3*int64(lease)), func() {
			if r.lead == l {
				s.end(r)
			}
		})
	}
}

// stop lets an operator end a term.
func (s *schedule) stop(l *lead, token uint64, all *list) {
	s.trace("an operator ends %v", l.term)
	for _, h := range all.hosts {
		if h := s.hosts[h]; !s.chance(8) {
			for _, v := range h.seats {
				s.on(&v.process, s.latency(), func() { s.tell(v, l, token) })
			}
		}
	}
}
