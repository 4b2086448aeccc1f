package lockstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// The reference backend has every ability. Those that an operator takes are in
// the files after this one.

func (l *memLock) Abilities(context.Context) ([]locks.Ability, error) {
	if l.m.is("ability-lost") {
		return everything()[1:], nil
	}
	if l.m.polls {
		return unqueued(), nil
	}
	return everything(), nil
}

// request is one that the server answers.
func (l *memLock) request(ctx context.Context, op string, f func()) error {
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed && !l.m.is("used-after-close") {
		return l.fail(op, nil, errClosed)
	}
	if l.m.is("ability-ignores-context") {
		ctx = context.WithoutCancel(ctx)
	}
	if err := l.path.Do(ctx, f); err != nil {
		if l.m.is("outage-is-loss-of-record") {
			return l.fail(op, locks.ErrLost, err)
		}
		return l.fail(op, locks.ErrUnavailable, err)
	}
	return nil
}

func (l *memLock) Inspect(ctx context.Context) (st locks.State, err error) {
	if l.m.is("inspect-lags") && l.seen != nil {
		return *l.seen, nil
	}
	err = l.request(ctx, "inspect", func() { st = l.m.state(l.key) })
	l.seen = &st
	if l.m.is("inspect-contends") && !st.Held {
		p := &place{key: l.key, nonce: "inspector", ttl: time.Second, inbox: l.inbox}
		_ = l.m.enter(p, true)
		time.Sleep(time.Millisecond)
		l.m.leave(p.key, p.nonce)
	}
	return st, err
}

func (m *memory) state(key string) (st locks.State) {
	st.Status = m.status(key)
	if m.is("inspect-hides-no-resign") {
		st.NoResign = false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range m.queue(key).places {
		if i == 0 && !m.is("queue-has-the-holder") || len(st.Queue) == locks.MaxQueue && !m.is("queue-unbounded") {
			continue
		}
		r := readRecord(p.record)
		place := locks.Place{Holder: r.Holder, RunID: r.RunID, Since: p.since, Priority: p.priority}
		if m.is("queue-without-priority") {
			place.Priority = 0
		}
		st.Queue = append(st.Queue, place)
	}
	if m.is("queue-backwards") {
		slices.Reverse(st.Queue)
	}
	return st
}

// crowd lets n contenders arrive.
func (m *memory) crowd(key string, n int) {
	for i := range n {
		_ = m.enter(&place{key: key, nonce: fmt.Sprint("crowd ", i), ttl: time.Minute, record: []byte("{}")}, false)
	}
}

func (l *memLock) Record(ctx context.Context) (text []byte, err error) {
	err = l.request(ctx, "record", func() {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		text = bytes.Clone(l.m.queue(l.textKey()).text)
	})
	if len(text) > locks.MaxRecord && !l.m.is("record-unbounded") {
		return nil, l.fail("record", nil, errors.New("too long"))
	}
	if l.m.is("record-is-never-nil") && text == nil {
		text = []byte{}
	}
	return text, err
}

// textKey is where the record is kept: with the lock, but for defects.
func (l *memLock) textKey() string {
	if base, _, ok := strings.Cut(l.key, "#"); ok && l.m.is("slots-share-a-record") {
		return base
	}
	return l.key
}

func (l *memLock) SetRecord(ctx context.Context, text []byte) error {
	if err := l.check("set record", text); err != nil {
		return err
	}
	l.mu.Lock()
	p := l.place
	l.mu.Unlock()
	if p == nil && !l.m.is("record-unconditional") {
		return l.fail("set record", locks.ErrLost, errors.New("not held"))
	}
	if l.m.is("record-checked-by-client") && !l.m.leads(p, l.key) {
		return l.fail("set record", locks.ErrLost, errors.New("not held"))
	}
	var answer error
	err := l.request(ctx, "set record", func() { answer = l.m.setText(l, p, text) })
	if err == nil && answer != nil {
		err = l.fail("set record", locks.ErrLost, answer)
	}
	return err
}

func (l *memLock) check(op string, text []byte) error {
	if long := len(text) > locks.MaxRecord && !l.m.is("text-unbounded"); long || !utf8.Valid(text) {
		return l.fail(op, locks.ErrUsage, errors.New("not a text of the length allowed"))
	}
	return nil
}

func (m *memory) leads(p *place, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	return len(q.places) > 0 && q.places[0] == p && p.token != 0
}

// setText checks and writes in one step.
func (m *memory) setText(l *memLock, p *place, text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(l.key)
	ours := len(q.places) > 0 && q.places[0] == p && p.token != 0
	switch {
	case m.is("record-unconditional"), m.is("record-checked-by-client"):
		ours = true
	case m.is("record-by-name"):
		ours = len(q.places) > 0
	case m.is("record-when-free"):
		ours = ours || len(q.places) == 0
	}
	if !ours {
		return errors.New("not held")
	}
	if m.is("record-extends") {
		m.extend(p)
	}
	if m.is("record-ends-lease") {
		m.remove(p.key, p.nonce, true)
	}
	text = append([]byte{}, text...)
	if m.is("record-trimmed") {
		text = bytes.TrimSpace(text)
	}
	m.queue(l.textKey()).text = text
	return nil
}

func (l *memLock) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := l.check("ask", text); err != nil {
		return err
	}
	return l.request(ctx, "ask", func() { l.m.ask(l.key, token, bytes.Clone(text)) })
}

func (m *memory) ask(key string, token uint64, text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	if len(q.places) > 1 && m.is("ask-reaches-waiters") && q.places[1].inbox != nil {
		q.places[1].unheard = text
		q.places[1].deliver()
	}
	switch {
	case len(q.places) == 0:
		return
	case q.places[0].token != token && !m.is("ask-ignores-token"), m.is("ask-never"):
		return
	case m.is("first-ask-wins") && (q.places[0].unheard != nil || len(q.places[0].inbox) > 0):
		return
	}
	if m.is("ask-mangles") {
		text = bytes.ToValidUTF8(bytes.ReplaceAll(text, []byte{0}, nil), nil)
	}
	q.places[0].unheard = text
	if !m.polls {
		q.places[0].deliver()
	}
}

// deliver tells the owner of a place what it is asked, and forgets what was not
// received.
func (p *place) deliver() {
	if p.unheard == nil || p.inbox == nil {
		return
	}
	select {
	case <-p.inbox:
	default:
	}
	if len(p.unheard) <= locks.MaxRecord {
		p.inbox <- p.unheard
	}
	p.unheard = nil
}

func (l *memLock) Asked() <-chan []byte {
	if l.m.is("asked-is-another-channel") {
		return make(chan []byte)
	}
	return l.inbox
}
