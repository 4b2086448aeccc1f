package caslease

import (
	"github.com/leaderrun/leaderrun/locks"
)

// Term implements [locks.Adopter]: it is the record that each renewal writes.
func (l *Lock) Term() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.record.encode()
}

// Adopt implements [locks.Adopter]. The next renewal reads the cell first.
func (l *Lock) Adopt(text string) error {
	r, err := parseRecord(text)
	if err != nil || r.State != held || r.Token == 0 {
		return &locks.UsageError{What: "not a term of a " + l.traits.Product + " lock"}
	}
	return l.adopt(&term{record: r, sent: l.now()})
}

var _ locks.Adopter = (*Lock)(nil)
