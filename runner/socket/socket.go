// Package socket is the socket in LEADERRUN_SOCKET, by which a job can ask whether its
// lease is still ours for certain. The server sends each client one answer, reads nothing
// from it, and disconnects.
//
// Nothing in an answer is secret: any process may have it.
//
// The socket has mode 0600 in a private directory. Both are removed with the server. The
// deadline in an answer is a moment on the boot clock, which client and server share, so
// an answer that was delayed on its way is as good as a fresh one.
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
	Lock   string `json:"lock"`
	Store  string `json:"store,omitempty"` // see runner.Config
	Holder string `json:"holder"`
	Token  uint64 `json:"token"`
	Slot   int    `json:"slot,omitempty"`   // 0: the lock has no slots
	PID    int    `json:"pid"`              // of leaderrun
	RunID  string `json:"run_id,omitempty"` // as in the lock's record
	// Around is the socket of the leaderrun in whose job this one runs, or "".
	Around string `json:"around,omitempty"`
	// Outside reports that the client is not a process of the job. It has the variable
	// from one, but will not be killed with the job.
	Outside bool `json:"outside,omitempty"`
	// Lost reports that the term has ended.
	Lost bool `json:"lost,omitempty"`
	// Deadline is the moment until which the lease is ours for certain, or 0 if the lease
	// cannot end while leaderrun lives.
	Deadline clock.Instant `json:"deadline,omitempty"`
}

// Ours reports whether the lease is ours for certain until the given moment.
func (a Answer) Ours(until clock.Instant) bool {
	return !a.Lost && (a.Deadline == 0 || until < a.Deadline)
}

// maxAnswer is the maximum length of an answer, in bytes.
const maxAnswer = 64 << 10

// encode returns an answer as one line of JSON.
func encode(a Answer) []byte {
	line, _ := json.Marshal(a) // every Answer can be encoded
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
		err = errors.New("it has no lock")
	}
	if err != nil {
		return Answer{}, fmt.Errorf("not an answer of leaderrun: %w", err)
	}
	return a, nil
}
