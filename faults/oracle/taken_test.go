package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// An operator takes the lock away from each of three, whose leases end two seconds later.
func TestTaken(t *testing.T) {
	t.Parallel()
	const outlived, silent = "taken away: token 9 was there 3s after an operator took its lock away, and 1s after its lease", "taken away: none of 3 holders says by whom and why"
	why := "leaderrun: lost the lock err=\"taken away by web2/1: " + WhyTaken(6) + "\"\n"
	for name, tt := range map[string]struct {
		log    string
		at     float64 // when that of token 9 is taken away
		status int
		fault  trace.Entry
		want   string
	}{
		"as it must be":            {why, 7, exitLost, trace.Entry{}, ""},
		"until its lease ends":     {why, 6, exitLost, trace.Entry{}, ""},
		"longer than its lease":    {why, 5, exitLost, trace.Entry{}, outlived},
		"nobody says why":          {"", 7, exitLost, trace.Entry{}, silent},
		"of another token":         {strings.ReplaceAll(why, "6", "66"), 7, exitLost, trace.Entry{}, silent},
		"one ended otherwise":      {"", 7, 0, trace.Entry{}, ""},
		"one could not hear it":    {"", 7, exitLost, struck("delay", "a", 7.5, 8), ""},
		"another could not":        {"", 7, exitLost, struck("delay", "c", 7.5, 8), silent},
		"the fault is that itself": {"", 7, exitLost, struck(TakenAway, "a", 6.9, 8), silent},
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(tt.log), 0o600); err != nil {
			t.Fatal(err)
		}
		taken := func(token uint64, when float64) trace.Entry {
			return trace.Entry{Kind: trace.Taken, Token: token, Call: at(when - 0.1), At: at(when), Expiry: at(when + 2)}
		}
		h := history(with(func(m []made) {
			m[0].status, m[1].status, m[2].status = exitLost, exitLost, tt.status
		}), taken(5, 2), taken(6, 4), taken(9, tt.at), taken(70, 1), tt.fault)
		v := Judge(h, Options{TTL: 5 * time.Second, Dir: t.TempDir(), Logs: []string{log}})
		if got := strings.Join(v.Wrong, "; "); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
