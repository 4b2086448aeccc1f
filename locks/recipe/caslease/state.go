package caslease

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

const (
	// maxHolder, maxHost and maxVersion bound what we write of a text, in bytes of JSON,
	// where one byte may become six. With the other fields they stay below MaxState: see
	// TestStateFits.
	maxHolder  = 1 << 10
	maxHost    = 256
	maxVersion = 64
	// maxRunID bounds the run's id, in bytes before JSON, because none of it may be missing.
	maxRunID = 64
	// maxTTL is the longest lease that a state may have: the longest that leaderrun asks
	// for.
	maxTTL = 24 * time.Hour
	// maxToken is far above what time and writes can lead to (in microseconds,
	// the year 148000), and far below where adding one would overflow.
	maxToken = 1 << 62
)

// What a state says a lock is.
const (
	held = "held"
	free = "free"
)

// A state is the JSON in the State of a lock's cell. Whoever may write the cell can put
// anything there, so a state of which any part makes no sense is not believed at all.
type state struct {
	Is    string `json:"state"`           // held or free
	Nonce string `json:"nonce"`           // of the attempt that began this term
	TTLms int64  `json:"ttl_ms"`          // how long the lease lasts after each write
	Token uint64 `json:"token,omitempty"` // of this term; 0: see view.token
	label.Label

	Renewals uint64 `json:"renewals,omitempty"` // rises with each renewal, so that each changes the cell

	Broken string `json:"broken,omitempty"` // if an operator broke the term: the nonce of that operation
	Why    string `json:"why,omitempty"`    // and what its author had asked before; see EncodeText
}

func (s state) ttl() time.Duration { return time.Duration(s.TTLms) * time.Millisecond }

// newState returns the state of a term of ours.
func newState(o locks.Options, nonce string, ttl time.Duration, token uint64) state {
	s := state{Is: held, Nonce: nonce, TTLms: ttl.Milliseconds(), Token: token, Label: label.Of(o)}
	s.Holder, s.Host, s.Version = fit(s.Holder, maxHolder), fit(s.Host, maxHost), fit(s.Version, maxVersion)
	s.RunID, s.Advertise = cut(s.RunID, maxRunID), cut(s.Advertise, locks.MaxAdvertise)
	return s
}

// renewed returns the state after a renewal of a term whose cell was last seen as at. The
// counter makes sure that every renewal changes the cell, also one whose predecessor's
// answer was lost.
func (s state) renewed(at *view) state {
	s.Renewals = at.state.Renewals + 1
	return s
}

// freed returns the state after the release of a term. It keeps the token, because the next
// one must be greater.
func (s state) freed() state {
	s.Is = free
	return s
}

// cut shortens a text to at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	return locks.Cut(strings.ToValidUTF8(s, string(utf8.RuneError)), n)
}

// fit shortens a text until it takes at most n bytes in JSON.
func fit(s string, n int) string {
	s = cut(s, n)
	for {
		b, _ := json.Marshal(s) // strings can be encoded
		over := len(b) - len(`""`) - n
		if over <= 0 {
			return s
		}
		s = cut(s, len(s)-(over+5)/6)
	}
}

func (s state) encode() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("caslease: strings and numbers cannot be encoded: " + err.Error())
	}
	return string(b)
}

// errNotOurs says that nothing in a cell is ours.
var errNotOurs = errors.New("has a state that leaderrun did not write")

// parseState reads the state of a cell, whoever wrote it.
func parseState(text string) (state, error) {
	var s state
	switch {
	case text == "":
		return state{}, errNotOurs
	case len(text) > MaxRead:
		return state{}, fmt.Errorf("has a state of %d bytes", len(text))
	case json.Unmarshal([]byte(text), &s) != nil:
		return state{}, errNotOurs
	case s.Is != held && s.Is != free:
		return state{}, errors.New("has a state that is neither held nor free")
	case s.TTLms <= 0 || s.TTLms > maxTTL.Milliseconds():
		return state{}, errors.New("has a state with a ttl that leaderrun does not grant")
	case s.Nonce == "" || s.Token > maxToken:
		return state{}, errors.New("has a state without a usable nonce or token")
	}
	return s, nil
}
