package lockstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func (l *memLock) Break(ctx context.Context, token uint64) error {
	ended := true
	err := l.request(ctx, "break", func() {
		if l.m.is("break-checks-first") {
			if ended = l.m.isTerm(l.key, token); ended {
				time.Sleep(20 * time.Millisecond)
				l.m.deleteAll(l.key)
			}
			return
		}
		ended = l.m.breakTerm(l.key, token)
	})
	if err == nil && !ended && !l.m.is("break-repeats") {
		err = l.fail("break", locks.ErrLost, errors.New("another term"))
	}
	return err
}

func (m *memory) isTerm(key string, token uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	return len(q.places) > 0 && q.places[0].token == token
}

// breakTerm checks and ends in one step.
func (m *memory) breakTerm(key string, token uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	switch {
	case len(q.places) == 0 || token == 0 || q.places[0].token != token && !m.is("break-by-name"):
		return false
	case m.is("break-does-nothing"):
		return true
	case m.is("break-ends-places"):
		for _, p := range slices.Clone(q.places[1:]) {
			m.remove(key, p.nonce, false)
		}
	}
	m.remove(key, q.places[0].nonce, m.is("break-is-clean"))
	if m.is("break-restarts-token") {
		q.token = 0
	}
	return true
}

func (l *memLock) Forget(ctx context.Context) error {
	forgotten := false
	err := l.request(ctx, "forget", func() { forgotten = l.m.forget(l.key) })
	if err == nil && !forgotten {
		err = l.fail("forget", locks.ErrHeld, &locks.HeldError{Status: l.m.status(l.key)})
	}
	return err
}

func (m *memory) forget(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	switch {
	case len(q.places) > 0 && m.is("forget-takes-the-record"):
		q.text = nil
		return false
	case len(q.places) > 0 && m.is("forget-of-held-succeeds"):
		return true
	case len(q.places) > 0:
		return false
	case m.is("forget-keeps-the-token"):
		q.text = nil
		return true
	case m.is("forget-by-prefix"):
		for other := range m.queues {
			if strings.HasPrefix(other, key) {
				delete(m.queues, other)
			}
		}
	}
	delete(m.queues, key)
	return true
}

// kept lists all that is stored under a prefix.
func (m *memory) kept(prefix string) (lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, q := range m.queues {
		if strings.HasPrefix(key, prefix) && (q.token > 0 || q.text != nil || len(q.places) > 0) {
			lines = append(lines, fmt.Sprintf("%q: token %d, record %q, %d places", key, q.token, q.text, len(q.places)))
		}
	}
	return lines
}

// Probe asks the one server.
func (l *memLock) Probe(ctx context.Context) (locks.Servers, error) {
	limit := l.o.ConnectTimeout
	if l.m.is("probe-hangs") {
		limit, ctx = time.Hour, context.WithoutCancel(ctx)
	}
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return locks.Servers{}, l.fail("probe", nil, errClosed)
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := locks.Server{Address: "memory", Version: "1", Ours: time.Now()}
	sent := time.Now()
	err := l.path.Do(timed, func() {})
	s.RTT, s.Time = max(time.Since(sent), 1), time.Now()
	if l.m.is("probe-without-round-trip") {
		s.RTT = 0
	}
	if l.m.is("probe-contends") {
		_ = l.m.enter(&place{key: l.key, nonce: "probe", ttl: time.Hour, record: []byte("{}")}, false)
	}
	if err != nil {
		s = locks.Server{Address: "memory", Error: err.Error(), Class: "unavailable"}
	}
	if l.m.is("probe-hides-errors") {
		s = locks.Server{Address: "memory", RTT: 1}
	}
	return locks.Servers{Product: "memory", Servers: []locks.Server{s}}, nil
}
