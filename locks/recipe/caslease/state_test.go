package caslease

import (
	"crypto/rand"
	"math"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

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
	if n := len(encodeJSON(request{Nonce: rand.Text(), Token: math.MaxUint64, Text: EncodeText(make([]byte, locks.MaxRecord))})); n > MaxRequest {
		t.Errorf("a request of %d bytes", n)
	}
}
