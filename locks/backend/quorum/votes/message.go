package votes

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The bounds of what is sent, in bytes. A Message fits into one UDP packet.
const (
	MaxID      = 64
	MaxName    = 256
	MaxMessage = 1024
)

// A Term names one campaign of one candidate, and the lease that may come of it.
type Term struct {
	Candidate string `json:"candidate"` // a process, which is the one to answer
	Number    uint64 `json:"number"`    // from 1, one more for each campaign
}

// ends reports whether a candidate that campaigns for t has ended an earlier term.
func (t Term) ends(earlier Term) bool {
	return t.Candidate == earlier.Candidate && t.Number > earlier.Number
}

// An Ask is a candidate's request for votes.
type Ask struct {
	Group Group         `json:"group"`
	Term  Term          `json:"term"`
	Round uint64        `json:"round"` // from 1, one more for each Ask of the term
	TTL   time.Duration `json:"ttl_ns"`
	Token uint64        `json:"token,omitempty"` // 0: not known yet
}

// A Vote is the answer of a voter.
type Vote string

// The votes.
const (
	Granted  Vote = "granted"
	Bound    Vote = "bound"    // to another term
	Abstains Vote = "abstains" // it has just started, or cannot know that it alone has its seat
	Foreign  Vote = "foreign"  // the groups differ
	Ended    Vote = "ended"    // it was told that the term has ended
)

// An Answer is a voter's answer to an [Ask], or to a [Withdrawal].
type Answer struct {
	Voter string        `json:"voter"`
	Seat  int           `json:"seat"`            // of the voter, from 0
	Term  Term          `json:"term"`            // of the request
	Round uint64        `json:"round,omitempty"` // of the request; 0: it was a Withdrawal
	Vote  Vote          `json:"vote,omitempty"`
	Token uint64        `json:"token,omitempty"` // the greatest that the voter knows
	Group Group         `json:"group"`           // of the voter
	To    Term          `json:"to,omitzero"`     // Bound: to this term
	Named uint64        `json:"named,omitempty"` // Bound: the token of that term; 0: it has none yet
	Left  time.Duration `json:"left_ns,omitempty"`
}

// A Withdrawal says that a term is over, or was never granted.
type Withdrawal struct {
	Term Term `json:"term"`
}

// A Message is what members send to each other: one of its requests or answers, about a lock.
type Message struct {
	Lock       string      `json:"lock"`
	Ask        *Ask        `json:"ask,omitempty"`
	Answer     *Answer     `json:"answer,omitempty"`
	Withdrawal *Withdrawal `json:"withdrawal,omitempty"`
}

// Encode returns the bytes of a message, at most MaxMessage.
func Encode(m Message) ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(m)
	if err == nil && len(b) > MaxMessage {
		err = fmt.Errorf("message of %d bytes (want at most %d)", len(b), MaxMessage)
	}
	return b, err
}

// Decode reads a message. It ignores unknown fields. What it returns is within the bounds of
// this package, but may be a lie.
func Decode(b []byte) (Message, error) {
	if len(b) > MaxMessage {
		return Message{}, fmt.Errorf("message of %d bytes (want at most %d)", len(b), MaxMessage)
	}
	var m Message
	if err := json.Unmarshal(b, &m); err != nil {
		return Message{}, err
	}
	if err := m.Check(); err != nil {
		return Message{}, err
	}
	return m, nil
}

// Check reports what is out of bounds.
func (m Message) Check() error {
	if len(m.Lock) > MaxName {
		return errors.New("the name of the lock is too long")
	}
	switch {
	case m.Ask != nil && m.Answer == nil && m.Withdrawal == nil:
		return m.Ask.check()
	case m.Ask == nil && m.Answer != nil && m.Withdrawal == nil:
		return m.Answer.check()
	case m.Ask == nil && m.Answer == nil && m.Withdrawal != nil:
		return m.Withdrawal.Term.check()
	}
	return errors.New("a message has one of ask, answer and withdrawal")
}

func (a *Ask) check() error {
	if a.Round == 0 || a.TTL <= 0 || a.TTL > a.Group.Longest {
		return fmt.Errorf("invalid round %d or lease %v", a.Round, a.TTL)
	}
	return errors.Join(a.Group.Check(), a.Term.check())
}

func (a *Answer) check() error {
	if a.To != (Term{}) {
		if err := a.To.check(); err != nil {
			return err
		}
	}
	switch {
	case a.Left < 0 || a.Left > MaxLongest:
		return fmt.Errorf("invalid time %v", a.Left)
	case a.Seat < 0 || a.Seat >= a.Group.Seats:
		return fmt.Errorf("invalid seat %d of %d", a.Seat, a.Group.Seats)
	case (a.Round == 0) != (a.Vote == ""):
		return fmt.Errorf("invalid vote %q in round %d", a.Vote, a.Round)
	}
	return errors.Join(checkID(a.Voter), a.Term.check(), a.Group.Check())
}

func (t Term) check() error {
	if t.Number == 0 {
		return errors.New("invalid term 0")
	}
	return checkID(t.Candidate)
}

func checkID(id string) error {
	if id == "" || len(id) > MaxID {
		return fmt.Errorf("invalid id of %d bytes (want 1 to %d)", len(id), MaxID)
	}
	return nil
}
