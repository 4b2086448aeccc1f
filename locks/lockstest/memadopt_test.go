package lockstest

import (
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// Term is the nonce of our place.
func (l *memLock) Term() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return "nonce " + l.place.nonce
}

// Adopt has no place if that is gone.
func (l *memLock) Adopt(term string) error {
	nonce, ok := strings.CutPrefix(term, "nonce ")
	if !ok && !l.m.is("adopt-of-anything") {
		return &locks.UsageError{What: "this is no term"}
	}
	p := l.m.left(l.key, nonce)
	if l.m.is("adopt-extends") {
		l.m.renew(p)
	}
	if !l.m.is("adopt-is-deaf") {
		l.m.mu.Lock()
		p.inbox = l.inbox
		l.m.mu.Unlock()
	}
	if !l.m.is("adopt-is-blind") {
		l.background(func() { l.watch(p) })
	}
	return l.set(p)
}

// left returns a place whose owner is gone, or one that is in no queue.
func (m *memory) left(key, nonce string) *place {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	if m.is("adopt-by-name") && len(q.places) > 0 {
		return q.places[0]
	}
	if p := m.place(q, nonce); p != nil {
		return p
	}
	gone := make(chan struct{})
	close(gone)
	return &place{key: key, nonce: nonce, gone: gone}
}
