package votes

import "time"

// toAll sends a message to the voters of all seats that a run knows.
func (s *schedule) toAll(r *run, msg Message) {
	for _, to := range r.list.hosts {
		s.transmit(r.host, s.hosts[to], msg)
	}
	if s.flaws.twice { // another voter has the name of a seat as well
		s.transmit(r.host, s.hosts[len(s.hosts)-1], msg)
	}
}

// transmit sends a message to the voter of a host that is there when it arrives.
func (s *schedule) transmit(from, to *host, msg Message) {
	s.carry(from, to, func() {
		for _, v := range to.seats {
			s.on(&v.process, 0, func() { s.receive(v, msg) })
		}
	})
}

// carry loses, delays, reorders and repeats a message.
func (s *schedule) carry(from, to *host, arrive func()) {
	if s.cut[from.number][to.number] || from != to && s.chance(20) {
		return
	}
	s.after(s.latency(), arrive)
	if s.chance(20) {
		s.after(s.latency(), arrive)
	}
}

func (s *schedule) latency() int64 {
	switch {
	case s.chance(20):
		return s.upTo(2 * int64(lease))
	case s.chance(4):
		return s.upTo(attempt)
	}
	return s.upTo(int64(20 * time.Millisecond))
}

// harm does something to the fleet, again and again.
func (s *schedule) harm() {
	if s.now >= s.healed {
		return
	}
	h := s.hosts[s.rand.IntN(len(s.hosts))]
	switch s.rand.IntN(10) {
	case 0:
		s.part()
	case 1:
		s.join()
	case 2: // one link, in one direction
		other := s.hosts[s.rand.IntN(len(s.hosts))]
		s.trace("cut from %d to %d", h.number, other.number)
		s.cut[h.number][other.number] = h != other
	case 3:
		s.boot(h)
	case 4:
		s.suspend(h)
	case 5:
		s.rates(h)
	default:
		s.harmProcess(h)
	}
	s.after(s.upTo(s.calm), s.harm)
}

// harmProcess kills or freezes a voter or a run.
func (s *schedule) harmProcess(h *host) {
	r := s.runs[s.rand.IntN(len(s.runs))]
	p, again := &r.process, func() { s.begin(r) }
	if len(h.seats) > 0 && s.rand.IntN(3) > 0 {
		v := h.seats[0]
		p, again = &v.process, func() { s.stand(v) }
		s.forget(v)
	}
	s.trace("the voter of %d, or run %d, dies or freezes", h.number, r.number)
	switch s.rand.IntN(3) {
	case 0:
		p.frozen = s.now + s.upTo(2*int64(lease))
	case 1:
		p.alive = false
		s.after(s.upTo(int64(lease)), again)
	default:
		p.alive = false
		again()
	}
}

// forget lets the promises of a voter that dies be lost, or makes it abstain, as when the date
// jumps. As a rule it does neither.
func (s *schedule) forget(v *seat) {
	switch s.rand.IntN(16) {
	case 0, 1:
		v.kept = nil
	case 2, 3, 4: // twice, so that the last one continues what the second one was
		v.kept, v.alive = nil, false
		s.stand(v)
	case 5:
		if v.alive {
			v.voter.Abstain(v.reader.at(s.now).Add(lease))
			s.keep(v)
		}
	}
}

// boot boots a host. Jobs there end, and the clock starts anywhere.
func (s *schedule) boot(h *host) {
	s.trace("%d boots", h.number)
	h.boots++
	for _, r := range s.runs {
		if r.host == h {
			r.alive = false
			s.after(s.upTo(int64(lease)/4), func() { s.begin(r) })
		}
	}
	for _, l := range s.leads {
		l.ended = l.ended || l.reader.host == h
	}
	h.readers, h.resumes = nil, s.now
	h.kernel = kernel{since: s.now, raw: s.upTo(int64(time.Hour))}
	s.rates(h)
	for _, v := range h.seats {
		v.alive = false
		if v.kept = nil; s.flaws.keepsForever {
			v.kept = v.older
		}
		s.after(s.upTo(int64(lease)/4), func() { s.stand(v) })
	}
}

// suspend suspends a host. When it resumes, the readings of each process may be wrong by
// another part of delta.
func (s *schedule) suspend(h *host) {
	if s.now < h.resumes {
		return
	}
	h.kernel = h.kernel.at(s.now)
	h.kernel.asleep = true
	h.resumes = min(s.now+s.upTo(2*int64(lease)), s.healed)
	s.trace("%d is suspended until %v", h.number, time.Duration(h.resumes))
	boots := h.boots
	s.after(h.resumes-s.now, func() {
		if boots != h.boots {
			return
		}
		h.kernel = h.kernel.at(s.now)
		h.kernel.asleep = false
		for _, r := range h.readers {
			r.ahead = s.rand.Int64N(int64(delta))
		}
	})
}

// part cuts the network in two, in both directions or in one, or only from each other but
// not from a bridge.
func (s *schedule) part() {
	s.join()
	side, bridge, oneWay := s.rand.IntN(1<<len(s.hosts)), s.rand.IntN(2*len(s.hosts)), s.rand.IntN(2) == 0
	s.trace("parted: %b, bridge %d, one way: %v", side, bridge, oneWay)
	for i := range s.cut {
		for j := range s.cut {
			a, b := side>>i&1, side>>j&1
			s.cut[i][j] = a != b && (!oneWay || a == 0) && i != bridge && j != bridge
		}
	}
}

func (s *schedule) join() {
	for i := range s.cut {
		clear(s.cut[i])
	}
}

// heal ends all faults. What is delayed still arrives.
func (s *schedule) heal() {
	s.trace("all heals")
	s.join()
	for _, h := range s.hosts {
		for _, v := range h.seats {
			v.frozen = min(v.frozen, s.now)
			s.stand(v)
		}
	}
	for _, r := range s.runs {
		r.frozen = min(r.frozen, s.now)
		s.begin(r)
	}
}
