package oracle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// TestDrained asks the job of token 9, which lives from 6 to 8, to end.
func TestDrained(t *testing.T) {
	t.Parallel()
	const killed = "drain: the job of token 9 was killed 500ms before it had ended as it was asked to, and 4.8s before it had to be for its lease"
	for name, tt := range map[string]struct {
		need   float64 // until when it has work left
		until  float64 // of its lease
		fault  trace.Entry
		want   string
		drops  bool // it is not judged
		status int  // of leaderrun
	}{
		"as it must be":                {7.9, 13, trace.Entry{}, "", false, 0},
		"killed":                       {8.5, 13, trace.Entry{}, killed, false, 0},
		"its lease ends":               {8.5, 8.1, trace.Entry{}, "", false, 0},
		"it knew of no lease":          {8.5, 0, trace.Entry{}, "", true, 0},
		"a fault that kills no job":    {8.5, 13, struck("blackhole", "a", 6.5, 7.5), killed, false, 0},
		"one that kills a helper":      {8.5, 13, struck("helper killed", "a", 7.5, 7.6), killed, false, 0},
		"one of another host":          {8.5, 13, struck("job killed", "b", 7.9, 8), killed, false, 0},
		"one before it was asked":      {8.5, 13, struck("guard killed", "a", 6, 6.1), killed, false, 0},
		"one after it had ended":       {8.5, 13, struck("guard killed", "a", 8.3, 8.4), killed, false, 0},
		"one that kills it":            {8.5, 13, struck("job killed", "a", 8, 8.01), "", true, 0},
		"the lock was lost":            {8.5, 13, trace.Entry{}, "", true, exitLost},
		"a guard that does not answer": {8.5, 13, struck("guard frozen", "a", 6.9, 7.6), "", true, 0},
	} {
		terms := with(func(m []made) { m[2].until, m[2].status = tt.until, tt.status })
		e := trace.Entry{Kind: trace.Draining, Host: "a", Token: 9, Leaderrun: 9, At: at(7), Expiry: at(tt.need)}
		v := Judge(history(terms, tt.fault, e), Options{TTL: 1500 * time.Millisecond, Dir: t.TempDir(), Drains: true})
		got := strings.Join(v.Wrong, "; ")
		if got != tt.want || (v.Figures.Drains == 0) != tt.drops {
			t.Errorf("%s: got %q, %d judged; want %q", name, got, v.Figures.Drains, tt.want)
		}
	}
}

// TestNoneDrained has many jobs of which none had its time: nothing is known of them, or their
// leases ended.
func TestNoneDrained(t *testing.T) {
	t.Parallel()
	drain := trace.Entry{Kind: trace.Draining, Host: "a", Token: 9, Leaderrun: 9, At: at(7), Expiry: at(9)}
	nobodys := trace.Entry{Kind: trace.Draining, Token: 70}
	terms := with(func(m []made) { m[2].until = 8.1 })
	for _, tt := range []struct {
		e    trace.Entry
		n    int
		want string
	}{
		{nobodys, 2 * plenty, "drain: 20 jobs were asked to end, and none of the 0 that are judged had its time"},
		{nobodys, 2*plenty - 1, ""},
		{drain, plenty, "drain: 10 jobs were asked to end, and none of the 10 that are judged had its time"},
		{drain, plenty - 1, ""},
	} {
		v := Judge(history(terms, slices.Repeat([]trace.Entry{tt.e}, tt.n)...), Options{TTL: 1500 * time.Millisecond, Dir: t.TempDir(), Drains: true})
		if got := strings.Join(v.Wrong, "; "); got != tt.want {
			t.Errorf("%d: got %q, want %q", tt.n, got, tt.want)
		}
	}
	drain.Expiry = at(7.9)
	if v := Judge(history(three(), slices.Repeat([]trace.Entry{drain}, plenty)...), Options{TTL: 1500 * time.Millisecond, Dir: t.TempDir(), Drains: true}); len(v.Wrong) > 0 {
		t.Errorf("all in time: got %q", v.Wrong)
	}
}
