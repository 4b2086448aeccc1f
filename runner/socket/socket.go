// Package socket answers, inside a job, whether its lease is still surely
// ours: the socket that LEADERRUN_SOCKET names. Whoever connects is told once
// and disconnected; nothing is read from a client.
//
// The socket has mode 0600 in a private directory, and both are removed with
// the server. The deadline in an answer is a moment on the boot clock, which
// client and server share, so that an answer delayed on its way is as good as
// a fresh one.
package socket

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// An Answer says what the job runs under.
type Answer struct {
	Lock    string `json:"lock"`
	Backend string `json:"backend"` // no password
	Holder  string `json:"holder"`
	Token   uint64 `json:"token"`
	Slot    int    `json:"slot,omitempty"`   // of a lock that has several
	PID     int    `json:"pid"`              // of leaderrun
	RunID   string `json:"run_id,omitempty"` // as in the lock's record
	// Around is the socket of the leaderrun in whose job this one runs; "" if
	// there is none.
	Around string `json:"around,omitempty"`
	// Outside reports that whoever asked is no process of the job: it has the
	// variable from one that is, and will not be killed with it.
	Outside bool `json:"outside,omitempty"`
	// Lost reports that the term has ended.
	Lost bool `json:"lost,omitempty"`
	// Deadline is the moment until which the lease is surely ours; 0 if it
	// cannot end while leaderrun lives.
	Deadline clock.Instant `json:"deadline,omitempty"`
}

// Ours reports whether the lease is surely ours until the given moment.
func (a Answer) Ours(until clock.Instant) bool {
	return !a.Lost && (a.Deadline == 0 || until < a.Deadline)
}

// maxAnswer bounds what a client reads.
const maxAnswer = 64 << 10

// encode makes one line of JSON of an answer.
func encode(a Answer) []byte {
	line, _ := json.Marshal(a) // it has nothing that JSON has not
	return append(line, '\n')
}

// read receives an answer.
func read(r io.Reader) (Answer, error) {
	var a Answer
	line, err := io.ReadAll(io.LimitReader(r, maxAnswer))
	if err != nil {
		return a, err
	}
	if len(line) == 0 {
		return a, errors.New("no answer")
	}
	err = json.Unmarshal(line, &a)
	if err == nil && a.Lock == "" { // an empty Answer would say that the lease cannot end
		err = errors.New("it names no lock")
	}
	if err != nil {
		return Answer{}, fmt.Errorf("not an answer of leaderrun: %w", err)
	}
	return a, nil
}
