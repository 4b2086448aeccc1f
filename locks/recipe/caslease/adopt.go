package caslease

import (
	"github.com/leaderrun/leaderrun/locks"
)

// Term implements [locks.Adopter]. It is the state that each renewal writes.
func (l *Lock) Term() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.state.encode()
}

// Adopt implements [locks.Adopter]. The next renewal reads the cell first.
func (l *Lock) Adopt(text string) error {
	s, err := parseState(text)
	if err != nil || s.Is != held || s.Token == 0 {
		return &locks.UsageError{What: "not a term of a " + l.traits.Product + " lock"}
	}
	return l.adopt(&term{state: s, sent: l.now()})
}

var _ locks.Adopter = (*Lock)(nil)
