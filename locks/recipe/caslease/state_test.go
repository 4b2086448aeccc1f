package caslease

import (
	"crypto/rand"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
)

// TestParseState: of a state, anything can be believed or nothing.
func TestParseState(t *testing.T) {
	t.Parallel()
	good := state{Is: held, Nonce: "n", TTLms: 1, Token: 7}
	for name, tt := range map[string]struct {
		change func(*state)
		ok     bool
	}{
		"held":              {func(*state) {}, true},
		"free":              {func(s *state) { s.Is = free }, true},
		"neither":           {func(s *state) { s.Is = "" }, false},
		"no nonce":          {func(s *state) { s.Nonce = "" }, false},
		"no ttl":            {func(s *state) { s.TTLms = 0 }, false},
		"longest ttl":       {func(s *state) { s.TTLms = maxTTL.Milliseconds() }, true},
		"too long a ttl":    {func(s *state) { s.TTLms = maxTTL.Milliseconds() + 1 }, false},
		"greatest token":    {func(s *state) { s.Token = maxToken }, true},
		"too great a token": {func(s *state) { s.Token = maxToken + 1 }, false},
	} {
		s := good
		tt.change(&s)
		if got, err := parseState(s.encode()); (err == nil) != tt.ok || tt.ok && got != s || !tt.ok && got != (state{}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for length, ok := range map[int]bool{MaxRead: true, MaxRead + 1: false} {
		text := good.encode()
		text += strings.Repeat(" ", length-len(text))
		if _, err := parseState(text); (err == nil) != ok {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

// TestTermOf: a store reads in a state what concerns its own lease.
func TestTermOf(t *testing.T) {
	t.Parallel()
	s := state{Is: held, Nonce: "n", TTLms: 1500}
	broken := s.freed()
	broken.Broken = "b"
	for text, want := range map[string]Leased{
		s.encode(): {"n", 1500 * time.Millisecond, true, false}, s.freed().encode(): {"n", 1500 * time.Millisecond, false, false},
		broken.encode(): {"n", 1500 * time.Millisecond, false, true}, "?": {},
	} {
		if got := LeaseOf(text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// TestStateFits: the largest state and the largest request fit the bounds that a store is
// promised.
func TestStateFits(t *testing.T) {
	t.Parallel()
	for _, holder := range []string{strings.Repeat("\x00", 5000), strings.Repeat("é", 5000) + "\x80", strings.Repeat("<", 5000), strings.Repeat("x", 5000), "x" + strings.Repeat("\x01é", 2000)} {
		full := newState(locks.Options{Holder: holder, RunID: holder, Version: holder, NoResign: true}, strings.Repeat("n", 40), maxTTL, maxToken)
		full.Start, full.Broken, full.Renewals, full.Host = locks.StartTakeover, rand.Text(), math.MaxUint64, fit(holder, maxHost)
		text := full.encode()
		if len(text) > MaxState {
			t.Errorf("a state of %d bytes", len(text))
		}
		if r, err := parseState(text); err != nil || len(r.Holder) > maxHolder || len(r.Holder) < maxHolder/6-1 || len(r.RunID) < maxRunID-1 {
			t.Errorf("read back: %+v, %v", r, err)
		}
	}
	if n := len(handle.NewRequest(math.MaxUint64, EncodeText(make([]byte, locks.MaxRecord)))); n > MaxRequest {
		t.Errorf("a request of %d bytes", n)
	}
}
