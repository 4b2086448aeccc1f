// Package ledger is the format of a lock's record, which a backend keeps that is a
// locks.Recorder: which runs have finished, how the last term ended, and who had which slot.
//
// The record is one JSON object of at most locks.MaxRecord bytes:
//
//	{"v":1,
//	 "runs":[{"spec":"0 0 * * *","floor":1774656000,
//	          "done":[{"slot":1774742400,"by":"host/17/89ab","at":1774742431,"token":7}]}],
//	 "slots":{"1":{"n":2,"token":8}},
//	 "term":{"token":9,"ttl_ns":15000000000,"by":"host/17/89ab","clean":true},
//	 "stopping":{"token":9,"since":1774742500,"kill":1774742530}}
//
// Other fields, which later versions may add, are kept as they are. What is read is not
// trusted: whoever can lead can write it.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// version is the version of the format.
const version = 1

// A Record is a lock's record. The zero value is an empty record. It must not be used
// concurrently.
type Record struct {
	Term  *Term        // the last one; nil: unknown
	Slots map[int]Slot // by number, 0 to locks.MaxSlot

	Stopping *Stopping // what the last holder that took its time to stop has said; nil: nothing

	runs  []history // the schedule used last is last
	other map[string]json.RawMessage
}

// A Term is what a holder says about its term.
type Term struct {
	Token uint64 `json:"token"`
	TTL   int64  `json:"ttl_ns"` // nanoseconds
	By    string `json:"by,omitempty"`
	Clean bool   `json:"clean"` // it ended with a release, when nothing of the job was left

	// Unproved, if not nil, says that the lock was released by a later holder which had not
	// waited until this term was certainly over, and started no job.
	Unproved *Unproved `json:"unproved,omitempty"`
}

// Unproved has, for each [clock.Epoch] in which a holder gave up, when the term had ended at the
// latest according to the server: the instant of the first such holder, in nanoseconds.
type Unproved struct {
	Seen map[string]int64 `json:"seen,omitempty"`
}

// maxSeen bounds Unproved.Seen.
const maxSeen = 8

// Note adds a holder that gave up.
func (u *Unproved) Note(epoch string, at int64) {
	if _, ok := u.Seen[epoch]; ok || epoch == "" || len(u.Seen) >= maxSeen {
		return
	}
	if u.Seen == nil {
		u.Seen = map[string]int64{}
	}
	u.Seen[epoch] = at
}

// A Slot is what the holder of a slot says about it.
type Slot struct {
	N     int    `json:"n"` // 0 to locks.MaxSlot
	Token uint64 `json:"token"`
}

// Stopping says that a job was asked to stop, and has not ended at once. The times are seconds
// since 1970 by the holder's wall clock.
type Stopping struct {
	Token uint64 `json:"token"` // of the term
	Since int64  `json:"since"`
	Kill  int64  `json:"kill"` // when it is killed at the latest
}

// Read parses a record. An empty text is an empty record.
func Read(text []byte) (*Record, error) {
	r := new(Record)
	if len(text) == 0 {
		return r, nil
	}
	if len(text) > locks.MaxRecord {
		return nil, fmt.Errorf("read the lock's record: it has %d bytes, more than %d", len(text), locks.MaxRecord)
	}
	if err := r.decode(text); err != nil {
		return nil, fmt.Errorf("read the lock's record: %w", err)
	}
	return r, nil
}

func (r *Record) decode(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	if err := json.Unmarshal(text, &r.other); err != nil {
		return err
	}
	v := 0
	for name, to := range map[string]any{"v": &v, "runs": &r.runs, "term": &r.Term, "slots": &r.Slots, "stopping": &r.Stopping} {
		if err := r.take(name, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if v != version {
		return fmt.Errorf("it has version %d; this leaderrun knows %d", v, version)
	}
	return r.check()
}

// take parses a field and removes it from the unknown ones.
func (r *Record) take(name string, to any) error {
	text, ok := r.other[name]
	if !ok {
		return nil
	}
	delete(r.other, name)
	return json.Unmarshal(text, to)
}

// check returns an error if we would not have written the record.
func (r *Record) check() error {
	for number, s := range r.Slots {
		if number < 0 || number > locks.MaxSlot || s.N < 0 || s.N > locks.MaxSlot {
			return fmt.Errorf("slot %d of %d is out of range", number, s.N)
		}
	}
	if r.Term != nil && r.Term.TTL < 0 {
		return errors.New("the term's ttl is negative")
	}
	if len(r.runs) > maxSchedules {
		return fmt.Errorf("it has %d schedules, more than %d", len(r.runs), maxSchedules)
	}
	for i, h := range r.runs {
		if err := h.check(); err != nil {
			return err
		}
		if r.find(h.Schedule) != i {
			return fmt.Errorf("the schedule %q is there twice", locks.Abbreviate(h.Schedule))
		}
	}
	return nil
}

// Encode returns the record as text. If it is too long, Encode drops first runs, which stay
// known as superseded, and then the names of holders. The rest fits, unless a later version
// has added very much to it.
func (r *Record) Encode() ([]byte, error) {
	for {
		text, err := r.encode()
		if err != nil || len(text) <= locks.MaxRecord {
			return text, err
		}
		if !r.shrink() {
			return nil, fmt.Errorf("the lock's record has %d bytes, more than %d", len(text), locks.MaxRecord)
		}
	}
}

func (r *Record) encode() ([]byte, error) {
	all := map[string]any{"v": version}
	for name, text := range r.other {
		all[name] = text
	}
	if len(r.runs) > 0 {
		all["runs"] = r.runs
	}
	if r.Term != nil {
		all["term"] = r.Term
	}
	if len(r.Slots) > 0 {
		all["slots"] = r.Slots
	}
	if r.Stopping != nil {
		all["stopping"] = r.Stopping
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // escaping would make six bytes of one
	err := e.Encode(all)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
