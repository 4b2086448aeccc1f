// Package socket is what LEADERRUN_SOCKET names, by which a job can ask whether its lease is
// still ours for certain.
//
// # The variable
//
// It is a list, separated by commas: key= and a secret, then the sockets at which the
// leaderrun answers, in the order in which to try them. A socket is a path or, on Linux, "@"
// and an abstract name. A path reaches jobs in other network namespaces, an abstract name
// those that may not read our temporary directory or have another, and it is there when no
// directory can be written or the path has been removed. The same of the leaderrun in whose
// job ours runs follows, and so on outwards. A value that does not begin with key= is one path.
//
// # The protocol
//
// A client sends a nonce. The server sends one line, a proof and its answer, and disconnects.
// The proof is a MAC of both, with the secret: others may have put a socket of their own in
// the place of ours once that is gone.
//
// On Linux any user may connect, because a job may change its user. The kernel tells who
// connects, and to those who do not descend from us the server sends only that they are
// strangers, at once. So they keep no connection that a job needs. Where nobody can tell, the
// socket has mode 0600, in a private directory.
//
// Nothing in an answer is secret. The secret is in the job's environment, so the job and other
// processes of its user can read it, and pretend to be us to that job. All files are removed
// with the server.
package socket

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// An Answer says what the job runs under.
type Answer struct {
	Lock   string `json:"lock"`
	Store  string `json:"store,omitempty"` // see runner.Options
	Holder string `json:"holder"`
	Token  uint64 `json:"token"`
	Slot   int    `json:"slot,omitempty"`   // 0: the lock has no slots
	PID    int    `json:"pid"`              // of leaderrun
	RunID  string `json:"run_id,omitempty"` // as in the lock's record
	// Outside reports that the client is not a process of the job, and will not be killed with
	// it. It has the variable from one. Nothing else is told.
	Outside bool `json:"outside,omitempty"`
	// Lost reports that the term has ended.
	Lost bool `json:"lost,omitempty"`
	// Deadline is the moment until which the lease is ours for certain, or 0 if the lease
	// cannot end while leaderrun lives.
	Deadline clock.Instant `json:"deadline,omitempty"`
	// Now is when the server answered, on the clock of Deadline.
	Now clock.Instant `json:"now,omitempty"`
	// Asked is when the client asked, on its own clock, which is another one in another time
	// namespace.
	Asked clock.Instant `json:"-"`
}

// Ours reports whether the lease is ours for certain until the given moment of the client's
// clock. The server looked at its clock after the client had asked, so by at most the time
// between the two the lease lasts longer than this says.
func (a Answer) Ours(until clock.Instant) bool {
	return !a.Lost && (a.Deadline == 0 || until.Sub(a.Asked) < a.Deadline.Sub(a.Now))
}

// maxAnswer is the maximum length of an answer, in bytes.
const maxAnswer = 64 << 10

// encode returns an answer as one line of JSON.
func encode(a Answer) []byte {
	line, _ := json.Marshal(a) // every Answer can be encoded
	return append(line, '\n')
}

// read receives an answer. Without a key there is no proof.
func read(r io.Reader, key, nonce []byte) (Answer, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxAnswer)).ReadBytes('\n')
	if err != nil {
		return Answer{}, err
	}
	said, proven := line, true
	if len(key) > 0 {
		said, proven = verify(key, nonce, line)
	}
	var a Answer
	switch err := json.Unmarshal(said, &a); {
	case err != nil:
		return Answer{}, fmt.Errorf("not an answer of leaderrun: %w", err)
	case a.Outside: // there is no proof for strangers
		return Answer{Outside: true}, nil
	case !proven:
		return Answer{}, errors.New("not an answer of our leaderrun")
	case a.Lock == "": // an empty Answer would say that the lease cannot end
		return Answer{}, errors.New("not an answer of leaderrun: it has no lock")
	}
	return a, nil
}
