package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// TestExceeded has an overlap while both killers were late, or one of them. With a ttl of 5 s the
// two margins are 667 ms.
func TestExceeded(t *testing.T) {
	t.Parallel()
	const (
		core      = "leaderrun: x: woke up late to kill the job late=812ms pid=5\n"
		guard     = "leaderrun-guard: warning: killed the job 1.2s late (of leaderrun 5)\n"
		lateness  = "margin exceeded by the machine: "
		violation = "overlap: "
	)
	for name, tt := range map[string]struct {
		log    string
		faults []trace.Entry
		want   string
	}{
		"nobody was late":                    {"", nil, violation},
		"both":                               {core + guard, nil, lateness + "1200 ms: "},
		"only leaderrun":                     {core, nil, violation},
		"only the guard":                     {guard, nil, violation},
		"both, within the margins":           {strings.ReplaceAll(core+guard, "812ms", "600ms"), nil, violation},
		"those of another run":               {strings.ReplaceAll(core+guard, "5", "7"), nil, violation},
		"the guard, and leaderrun is struck": {guard, []trace.Entry{struck("leaderrun frozen", "a", 2, 2.8)}, lateness},
		"leaderrun, and the guard is struck": {core, []trace.Entry{struck("guard killed", "a", 2, 2.8)}, lateness + "812 ms: "},
		"both are struck, and none was late": {"", []trace.Entry{struck("leaderrun and guard frozen", "a", 2, 2.8)}, violation},
		"struck on another host":             {guard, []trace.Entry{struck("leaderrun frozen", "b", 2, 2.8)}, violation},
		"struck after its end":               {guard, []trace.Entry{struck("leaderrun frozen", "a", 4, 5)}, violation},
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(tt.log), 0o600); err != nil {
			t.Fatal(err)
		}
		h := history(with(func(m []made) { m[1].first = 2.5 }), tt.faults...)
		v := Judge(h, Options{TTL: 5 * time.Second, Dir: t.TempDir(), Logs: []string{log}})
		if len(v.Wrong) == 0 || !strings.HasPrefix(v.Wrong[0], tt.want) {
			t.Errorf("%s: got %q, want %q first", name, v.Wrong, tt.want)
		}
		if f := v.Figures; f.Overlaps+f.Exceeded != 1 || (f.Exceeded == 1) != strings.HasPrefix(tt.want, lateness) {
			t.Errorf("%s: %d overlaps, %d exceeded", name, f.Overlaps, f.Exceeded)
		}
	}
}
