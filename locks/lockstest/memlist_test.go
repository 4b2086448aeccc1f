package lockstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// tellTerm adds what is not in a place's record; mu is held.
func (m *memory) tellTerm(st *locks.Status, p *place) {
	switch {
	case p.token == 0:
		return
	case m.leases && m.is("left-is-the-ttl"):
		st.Left = p.ttl
	case m.leases:
		st.Left = time.Until(p.expires)
	}
	st.Start = locks.StartTakeover
	if p.clean || m.is("start-is-always-clean") {
		st.Start = locks.StartClean
	}
}

// List has the name that comes next as its cursor.
func (l *memLock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	var answer error
	err = l.request(ctx, "list", func() { page, next, answer = l.m.list(l.prefix(), cursor) })
	return page, next, errors.Join(err, answer)
}

// prefix is that of the store.
func (l *memLock) prefix() string {
	prefix, _, _ := strings.Cut(l.key, "\x00")
	if l.m.is("list-has-other-stores") {
		return prefix[:1]
	}
	return prefix + "\x00"
}

func (m *memory) list(prefix, cursor string) (page []locks.Listed, next string, err error) {
	all := m.listable(prefix)
	from, _ := slices.BinarySearch(all, cursor)
	if m.is("list-counts-entries") {
		from, _ = strconv.Atoi(cursor)
		from = min(from, len(all))
	}
	for i, name := range all[from:] {
		if i == locks.MaxList && !m.is("list-is-one-page") {
			if next = name; m.is("list-counts-entries") {
				next = fmt.Sprint(from + i)
			}
			if m.is("list-stops-after-a-page") {
				next = ""
			}
			break
		}
		one, err := m.listed(prefix, name)
		if err != nil {
			return nil, "", err
		}
		page = append(page, one)
	}
	return page, next, nil
}

// listable are the names of locks, in order.
func (m *memory) listable(prefix string) (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, q := range m.queues {
		name, ok := strings.CutPrefix(key, prefix)
		switch {
		case !ok, len(q.places) == 0 && (q.text == nil || m.is("list-only-held")):
			continue
		case locks.CheckSlotName(name) != nil && !m.is("list-has-strangers"):
			continue
		case locks.CheckName(name) != nil && m.is("list-without-slots"):
			continue
		case m.is("list-cuts-names") && len(name) > 100:
			name = name[:100]
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func (m *memory) listed(prefix, name string) (locks.Listed, error) {
	one := locks.Listed{Name: name, Status: m.status(prefix + name)}
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(prefix + name)
	if one.Record = bytes.Clone(q.text); len(q.text) > locks.MaxRecord && !m.is("record-unbounded") {
		one.Record = []byte{}
	}
	if m.is("list-without-records") {
		one.Record = nil
	}
	if m.is("list-fails-on-garbage") && len(q.places) > 0 && !json.Valid(q.places[0].record) {
		return one, errors.New("no JSON")
	}
	return one, nil
}
