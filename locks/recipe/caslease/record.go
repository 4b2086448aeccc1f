package caslease

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

const (
	// maxHolder, maxHost and maxVersion are the most that is written of a text, in
	// bytes of JSON, in which one byte may become six. With the rest they stay below
	// MaxState: see TestStateFits.
	maxHolder  = 1 << 10
	maxHost    = 256
	maxVersion = 64
	// maxRunID is that of a text of which nothing may be missing.
	maxRunID = 64
	// maxTTL is the longest lease that a record may speak of: the longest that
	// leaderrun asks for.
	maxTTL = 24 * time.Hour
	// maxToken is far above what time and writes can lead to (in microseconds,
	// the year 148000), and far below where adding one would overflow.
	maxToken = 1 << 62
)

// The states of a lock.
const (
	held = "held"
	free = "free"
)

// A record is the state of a lock. Whoever may write the cell can put
// anything there: what does not make sense as a whole is not believed at all.
type record struct {
	State   string    `json:"state"`
	Nonce   string    `json:"nonce"`           // of the attempt that made this term
	TTLms   int64     `json:"ttl_ms"`          // how long the lease runs after each write
	Token   uint64    `json:"token,omitempty"` // of this term; 0: see view.token
	Holder  string    `json:"holder"`
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	RunID   string    `json:"run_id,omitempty"`
	Since   time.Time `json:"since,omitzero"` // by the holder's wall clock: for people
	Version string    `json:"version,omitempty"`

	Renewals uint64 `json:"renewals,omitempty"` // another number with each, so that each is a change

	NoResign bool   `json:"no_resign,omitempty"`
	Start    string `json:"start,omitempty"`  // as [locks.Status] has it
	Broken   string `json:"broken,omitempty"` // of a lock that was taken away: the nonce of who did it
}

func (r record) ttl() time.Duration { return time.Duration(r.TTLms) * time.Millisecond }

// newRecord describes a term of ours.
func newRecord(o locks.Options, nonce string, ttl time.Duration, token uint64) record {
	host, _ := os.Hostname() // without a name it is left out
	return record{
		State: held, Nonce: nonce, TTLms: ttl.Milliseconds(), Token: token,
		Holder: fit(o.Holder, maxHolder), Host: fit(host, maxHost), PID: cmp.Or(o.PID, os.Getpid()), RunID: cut(o.RunID, maxRunID), Version: fit(o.Version, maxVersion),
		Since: time.Now().UTC().Truncate(time.Millisecond), NoResign: o.NoResign,
	}
}

// cut shortens a text to at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
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

func (r record) encode() string { return encodeJSON(r) }

func encodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("caslease: what is made of strings and numbers cannot be encoded: " + err.Error())
	}
	return string(b)
}

// parseRecord reads the state of a cell, whoever wrote it.
func parseRecord(text string) (record, error) {
	var r record
	switch {
	case text == "":
		return record{}, errors.New("was not made by leaderrun")
	case len(text) > MaxRead:
		return record{}, fmt.Errorf("has a record of %d bytes", len(text))
	case json.Unmarshal([]byte(text), &r) != nil:
		return record{}, errors.New("has a record that is not one of leaderrun's")
	case r.State != held && r.State != free:
		return record{}, errors.New("has a record with no known state")
	case r.TTLms <= 0 || r.TTLms > maxTTL.Milliseconds():
		return record{}, errors.New("has a record with a ttl that leaderrun does not grant")
	case r.Nonce == "" || r.Token > maxToken:
		return record{}, errors.New("has a record without a usable nonce or token")
	}
	return r, nil
}
