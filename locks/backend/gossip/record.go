package gossip

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
)

// A record is a text that a holder has written, as one voter keeps it. It is written when a
// majority has it, so each read of a majority finds it. A voter that starts takes the
// records of the others that it reaches. It has time for that: it abstains, and until then
// its answers do not count.
type record struct {
	Term  votes.Term `json:"term"`
	Token uint64     `json:"token"`
	Seq   uint64     `json:"seq"` // of the holder's writes, from 1
	Text  string     `json:"text"`
}

// newer reports whether a record was written after another, which may be nil.
func (r *record) newer(than *record) bool {
	return than == nil || cmp.Or(cmp.Compare(r.Token, than.Token), cmp.Compare(r.Seq, than.Seq)) > 0
}

func (r *record) modest() bool {
	return len(r.Text) <= locks.MaxRecord && len(r.Term.Candidate) <= votes.MaxID
}

// write keeps a record if its writer is the holder to whom the seat is bound, and reports
// whether that is so.
func (s *seat) write(lock [2]string, r *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.locks[lock]
	if b == nil {
		return false
	}
	term, left := b.voter.Bound(s.clock.Now())
	return left > 0 && term == r.Term && s.keep(lock, r)
}

// keep keeps a record unless there is a newer one. The caller holds s.mu.
func (s *seat) keep(lock [2]string, r *record) bool {
	old, known := s.records[lock]
	if !known && len(s.records) >= maxLocks {
		return false
	}
	if r.newer(old) {
		s.records[lock] = r
	}
	return true
}

func (s *seat) record(lock [2]string) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[lock]
}

// A kept is a record on its way from one voter to another.
type kept struct {
	Lock   [2]string `json:"lock"` // space and name
	Record *record   `json:"record"`
}

// maxState is how many bytes of records voters exchange at a time.
const maxState = 4 << 20

// state returns the records for another voter.
func (s *seat) state() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []kept
	size := 0
	for lock, r := range s.records {
		if size += 6*len(r.Text) + 1024; size > maxState {
			break
		}
		all = append(all, kept{lock, r})
	}
	b, _ := json.Marshal(all) // it cannot fail
	return b
}

// merge takes the records of another voter.
func (s *seat) merge(b []byte) {
	var all []kept
	if len(b) > maxState || json.Unmarshal(b, &all) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range all {
		if k.Record != nil && k.Record.modest() && max(len(k.Lock[0]), len(k.Lock[1])) <= votes.MaxName {
			s.keep(k.Lock, k.Record)
		}
	}
}

// Record implements [locks.Recorder].
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	v := newView(l.settings.group)
	err := l.lookAt(ctx, look{Lock: l.o.Name, Read: true}, v, nil, func() bool { return v.voted() >= v.group.Majority() })
	if err != nil {
		return nil, l.fail(ctx, "read the record of", err)
	}
	return v.record(), nil
}

// record returns the newest record that voters have answered with, or nil.
func (v *view) record() []byte {
	var newest *record
	for _, p := range v.answers {
		if r := p.Found.Record; r != nil && r.newer(newest) {
			newest = r
		}
	}
	if newest == nil {
		return nil
	}
	return []byte(newest.Text)
}

// SetRecord implements [locks.Recorder]. While our term may be granted, a majority of the
// voters is bound to us, or has just started. So if more refuse than there are besides
// that, the lock is lost.
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	const op = "write the record of"
	term, token, leads := l.votes.Term()
	if !leads {
		return l.fail(ctx, op, locks.LostError("the lock is not ours"))
	}
	l.mu.Lock()
	l.writes++
	r := &record{Term: term, Token: token, Seq: l.writes, Text: string(text)}
	l.mu.Unlock()
	v := newView(l.settings.group)
	acks, refusals := 0, 0
	count := func() bool {
		acks, refusals = v.wrote()
		return acks >= v.group.Majority() || refusals > v.group.Seats-v.group.Majority()
	}
	switch err := l.lookAt(ctx, look{Lock: l.o.Name, Write: r}, v, nil, count); {
	case err != nil:
		return l.fail(ctx, op, err)
	case acks >= v.group.Majority():
		return nil
	case refusals > v.group.Seats-v.group.Majority():
		return l.fail(ctx, op, locks.LostError("a majority of the members is not bound to us"))
	}
	e := &locks.Error{Op: op, Backend: "gossip", Name: l.o.Name, Class: locks.ErrUnavailable, Err: errors.New("no majority of the members has written it")}
	return e.Ended(ctx, true)
}

// wrote returns how many voters have kept a record, and how many have refused it.
func (v *view) wrote() (acks, refusals int) {
	for _, p := range v.answers {
		switch f := p.Found; {
		case f.Group != v.group || f.opens() > 0:
		case f.Kept:
			acks++
		default:
			refusals++
		}
	}
	return acks, refusals
}

var _ locks.Recorder = (*Lock)(nil)
