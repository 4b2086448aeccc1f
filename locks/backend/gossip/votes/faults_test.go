package votes

import "time"

// toAll sends a message to each member, the sender among them.
func (s *schedule) toAll(from *member, msg Message) {
	for _, to := range s.members {
		s.transmit(from, to, msg)
	}
}

// send sends a message to a process, if it still lives when it arrives.
func (s *schedule) send(from *member, id string, msg Message) {
	if to := s.members[id[0]-'0']; to.voter.id == id {
		s.transmit(from, to, msg)
	}
}

// transmit loses, delays, reorders and repeats a message.
func (s *schedule) transmit(from, to *member, msg Message) {
	if s.cut[from.seat][to.seat] || from != to && s.chance(20) {
		return
	}
	s.after(s.latency(), func() { s.arrive(to, msg) })
	if s.chance(20) {
		s.after(s.latency(), func() { s.arrive(to, msg) })
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

// arrive gives a message to the process that is in the seat now.
func (s *schedule) arrive(to *member, msg Message) {
	s.on(to, 0, func() { s.receive(to, msg) })
}

// harm does something to the fleet, again and again.
func (s *schedule) harm() {
	if s.now >= s.healed {
		return
	}
	m := s.members[s.rand.IntN(len(s.members))]
	switch s.rand.IntN(6) {
	case 0:
		s.part()
	case 1:
		s.join()
	case 2: // one link, in one direction
		other := s.members[s.rand.IntN(len(s.members))]
		s.trace("cut from %d to %d", m.seat, other.seat)
		s.cut[m.seat][other.seat] = m != other
	case 3: // a process dies, and another one takes its seat
		s.trace("%d dies", m.seat)
		m.alive = false
		s.after(s.upTo(int64(lease)), func() { s.start(m) })
	case 4: // the same at once
		s.trace("%d dies", m.seat)
		m.alive = false
		s.start(m)
	case 5:
		m.frozen = s.now + s.upTo(2*int64(lease))
		s.trace("%d is frozen until %v", m.seat, time.Duration(m.frozen))
	}
	s.after(s.upTo(int64(lease)), s.harm)
}

// part cuts the network in two, in both directions or in one, or only from each other but
// not from a bridge.
func (s *schedule) part() {
	s.join()
	side, bridge, oneWay := s.rand.IntN(1<<len(s.members)), s.rand.IntN(2*len(s.members)), s.rand.IntN(2) == 0
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
	for _, m := range s.members {
		m.frozen = min(m.frozen, s.now)
		s.start(m)
	}
}
