package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/runner/window"
)

// at is a moment in a made-up record, in seconds.
func at(s float64) clock.Instant { return clock.Instant(s * float64(time.Second)) }

func command(what string, token uint64, first, last float64) oracle.Stay {
	return oracle.Stay{Entry: trace.Entry{What: what, Token: token}, Span: trace.Span{First: at(first), Last: at(last)}}
}

// TestTurns judges made-up windows.
func TestTurns(t *testing.T) {
	t.Parallel()
	ran := func(number, status int, ended float64, killed bool) *outcome {
		return &outcome{number: number, status: status, ended: at(ended), killed: killed}
	}
	first, second := ran(1, 0, 2, false), ran(2, 0, 4, false)
	crashed, warned, excused := ran(3, 137, 2, true), ran(4, 0, 2, false), ran(5, 76, 2, false)
	warned.stderr = "the job succeeded, but this could not be recorded"
	excused.excused = true
	for _, tt := range []struct {
		name string
		turn turn
		want []string
	}{
		{"once", turn{starts: []clock.Instant{at(1)}, successes: []success{{at(2), first}}}, nil},
		{"never", turn{starts: []clock.Instant{at(1)}}, []string{"had no success"}},
		{"twice", turn{starts: []clock.Instant{at(1)}, successes: []success{{at(2), first}, {at(4), second}}}, []string{"succeeded twice"}},
		{"again after a crash", turn{starts: []clock.Instant{at(1), at(3)}, successes: []success{{at(2), crashed}, {at(4), second}}}, nil},
		{"again after a warning", turn{starts: []clock.Instant{at(1), at(3)}, successes: []success{{at(2), warned}, {at(4), second}}}, nil},
		{"again on a machine too busy", turn{successes: []success{{at(2), excused}, {at(4), second}}}, nil},
		{"begun again", turn{starts: []clock.Instant{at(1), at(3)}, successes: []success{{at(2), first}}}, []string{"run again"}},
	} {
		v := new(verdict)
		v.judgeTurn(7, &tt.turn, true)
		if len(v.wrong) != len(tt.want) || !slices.EqualFunc(v.wrong, tt.want, strings.Contains) {
			t.Errorf("%s: got %q, want %q", tt.name, v.wrong, tt.want)
		}
	}
}

// TestFirings judges single made-up firings.
func TestFirings(t *testing.T) {
	t.Parallel()
	now := time.Now()
	read := trace.Entry{Kind: trace.Read, Real: now.UnixNano()}
	start, success := trace.Entry{Kind: trace.Start}, trace.Entry{Kind: trace.Success}
	guard := trace.Entry{Kind: trace.Kill, What: "guard"}
	for _, tt := range []struct {
		name    string
		o       outcome
		first   time.Time // of its events
		entries []trace.Entry
		ok      bool
	}{
		{"skipped", outcome{}, now, nil, true},
		{"ran", outcome{}, now, []trace.Entry{start, success}, true},
		{"ran and did not succeed", outcome{}, now, []trace.Entry{start}, false},
		{"did not wait", outcome{status: 75, firing: firing{wait: "-n"}}, now, nil, true},
		{"was to wait", outcome{status: 75}, now, nil, false},
		{"lost its guard", outcome{status: 76}, now, []trace.Entry{start, guard}, true},
		{"lost the lock", outcome{status: 76}, now, []trace.Entry{start}, false},
		{"was killed", outcome{status: 137, killed: true}, now, []trace.Entry{start}, true},
		{"died", outcome{status: 137}, now, []trace.Entry{start}, false},
		{"knew its window too late", outcome{}, now.Add(-time.Millisecond), nil, false},
	} {
		tt.o.entries = append([]trace.Entry{read}, tt.entries...)
		tt.o.events = filepath.Join(t.TempDir(), "events")
		line, err := json.Marshal(map[string]any{"time": tt.first})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tt.o.events, append(line, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		v := new(verdict)
		new(cron).judgeOne(v, &tt.o)
		if (len(v.wrong) == 0) != tt.ok {
			t.Errorf("%s: got %q", tt.name, v.wrong)
		}
	}
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	turns := map[int64]*turn{0: {}}
	for key := range int64(remembered + 1) {
		if overtaken(turns, 0, clock.Never) {
			t.Errorf("overtaken by %d windows", key)
		}
		turns[key+1] = &turn{successes: []success{{at: at(1 + float64(key))}}}
	}
	if !overtaken(turns, 0, clock.Never) || overtaken(turns, 0, at(3)) || overtaken(turns, 1, clock.Never) {
		t.Error("not overtaken by all of them, or overtaken by a few")
	}
}

// TestBusy checks that what takes too long is excused exactly when the machine is too
// busy.
func TestBusy(t *testing.T) {
	t.Parallel()
	c := &canary{slow: []trace.Span{{First: at(5), Last: at(6)}}}
	for _, tt := range []struct {
		from, to float64
		want     bool
	}{{1, 4, false}, {1, 5.5, true}, {5.2, 5.4, true}, {4, 9, true}, {7, 9, false}} {
		if got := c.busy(at(tt.from), at(tt.to)); got != tt.want {
			t.Errorf("from %v to %v: got %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}

// TestSkips judges a run that skips the job for a window without a success.
func TestSkips(t *testing.T) {
	t.Parallel()
	w, err := window.Parse("10m", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	busy := &canary{slow: []trace.Span{{First: at(1), Last: at(2)}}}
	for _, tt := range []struct {
		name   string
		canary *canary
		later  int // windows that had a success meanwhile
		ok     bool
	}{
		{"at once", busy, 3, false},
		{"when it is forgotten", busy, remembered + 1, true},
		{"when it is forgotten, with time enough", &canary{}, remembered + 1, false},
	} {
		turns := map[int64]*turn{0: {}}
		for n := range tt.later {
			turns[600*int64(n+1)] = &turn{successes: []success{{at: at(3)}}}
		}
		o := &outcome{ended: at(4), entries: []trace.Entry{{Kind: trace.Read, Wall: time.Unix(60, 0).UnixNano()}}}
		v := new(verdict)
		c := &cron{schedule: w, canary: tt.canary}
		if c.judgeSkip(v, o, turns); (len(v.wrong) == 0) != tt.ok {
			t.Errorf("%s: got %q", tt.name, v.wrong)
		}
	}
}

// TestDescribed judges an overlap from 8 to 9 s on machines that were too busy at other times, or
// in the lease before.
func TestDescribed(t *testing.T) {
	t.Parallel()
	overlaps := []oracle.Overlap{{Before: command("job", 1, 1, 9), After: command("job", 2, 8, 10)}}
	for from, want := range map[float64]string{2: trial.FinalMark, 2.5: "margin exceeded", 8.5: "margin exceeded", 9.5: trial.FinalMark} {
		c := &canary{slow: []trace.Span{{First: at(from), Last: at(from + 0.75)}}}
		if got := c.described(overlaps); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("busy from %v s: got %q, want %q", from, got, want)
		}
	}
}
