package oracle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// as lets a leaderrun begin with a priority.
func as(pid int, priority string) func(h *History) {
	return func(h *History) {
		for i := range h.Entries {
			if e := &h.Entries[i]; e.Kind == trace.Began && e.PID == pid {
				e.What = Rank(priority)
			}
		}
	}
}

// TestOutranked has a term that begins at 8, while the leaderrun of the next, and perhaps another, wait.
func TestOutranked(t *testing.T) {
	t.Parallel()
	const wrong = "priority: token 5 began with priority 1, and leaderrun 6 of host b had waited for 6s with priority 5"
	other := func(begun, ended float64) []trace.Entry {
		return []trace.Entry{
			{Kind: trace.Began, Host: "c", PID: 7, At: at(begun), What: Rank("7")},
			{Kind: trace.Ran, Host: "c", PID: 7, Call: at(begun), At: at(ended)},
		}
	}
	for name, tt := range map[string]struct {
		first, next string // priorities
		others      []trace.Entry
		change      func(m []made)
		choice      bool // between waiters of different priorities
		want        string
	}{
		"as it must be":      {"5", "1", nil, nil, true, ""},
		"the lower first":    {"1", "5", nil, nil, true, wrong},
		"negative":           {"-5", "-1000", nil, nil, true, ""},
		"equal":              {"5", "5", nil, nil, false, ""},
		"who does not look":  {"", "5", nil, nil, false, ""},
		"who did not ask":    {"1", "", nil, nil, false, ""},
		"hardly begun":       {"1", "5", nil, func(m []made) { m[1].begun = 5.1 }, false, ""},
		"begun early enough": {"1", "5", nil, func(m []made) { m[1].begun = 5 }, true, strings.Replace(wrong, "6s", "3s", 1)},
		"who had the lock before": {"1", "5", nil, func(m []made) {
			m[0].begun = 3.5
			m[1].pid, m[1].token, m[1].first, m[1].last = 6, 4, 6, 7.9
		}, false, ""},
		"the greatest of two":              {"1", "5", other(3, 9), nil, true, strings.NewReplacer("6 of host b", "7 of host c", "6s", "5s", "priority 5", "priority 7").Replace(wrong)},
		"of two who gave up":               {"6", "5", other(3, 8.1), nil, true, ""},
		"a fault of the waiter":            {"1", "5", []trace.Entry{struck("job killed", "b", 7, 7.1)}, nil, false, ""},
		"before it began":                  {"1", "5", []trace.Entry{struck("job killed", "b", 0.6, 0.7)}, nil, false, ""},
		"long before it began":             {"1", "5", []trace.Entry{struck("job killed", "b", 0.3, 0.4)}, nil, true, wrong},
		"after the choice":                 {"1", "5", []trace.Entry{struck("job killed", "b", 8.1, 8.2)}, nil, true, wrong},
		"a fault of the server":            {"1", "5", []trace.Entry{struck("server killed", "", 4, 4.1)}, nil, false, ""},
		"a fault of another host":          {"1", "5", []trace.Entry{struck("job killed", "c", 7, 7.1)}, nil, true, wrong},
		"a fault of who begins":            {"1", "5", []trace.Entry{struck("blackhole", "a", 2, 5.1)}, nil, false, ""},
		"a fault of who begins, over then": {"1", "5", []trace.Entry{struck("blackhole", "a", 2, 4.9)}, nil, true, wrong},
		"told to end":                      {"1", "5", []trace.Entry{{Kind: trace.Stopped, At: at(7.9)}}, nil, false, ""},
	} {
		terms := []made{
			{host: "a", token: 5, begun: 1, first: 8, last: 9, ended: 9.2},
			{host: "b", token: 6, begun: 2, first: 10, last: 11, ended: 11.2},
		}
		if tt.change != nil {
			tt.change(terms)
		}
		h := history(terms, tt.others...)
		if tt.first != "" {
			as(5, tt.first)(&h)
		}
		if tt.next != "" {
			as(6, tt.next)(&h)
		}
		v := Judge(h, Options{TTL: 1500 * time.Millisecond, Dir: t.TempDir()})
		if got := strings.Join(v.Wrong, "; "); got != tt.want || v.Figures.Choices > 0 != tt.choice {
			t.Errorf("%s: got %q, %d choices; want %q", name, got, v.Figures.Choices, tt.want)
		}
	}
}

// TestNobodyWaits has many terms, at no beginning of which anybody waited.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n      int
		ranked bool
		want   string
	}{
		{often, true, fmt.Sprintf("priority: nobody is known to have waited when %d terms began", often)},
		{often - 1, true, ""},
		{often, false, ""},
	} {
		var terms []made
		for i := range tt.n {
			from := float64(i)
			terms = append(terms, made{host: "a", token: uint64(i + 1), begun: from, first: from + 0.1, last: from + 0.8, ended: from + 0.9})
		}
		h := history(terms)
		for i := range tt.n {
			as(i+1, fmt.Sprint(i%2))(&h)
		}
		v := Judge(h, Options{TTL: time.Second, Dir: t.TempDir(), Ranked: tt.ranked})
		if got := strings.Join(v.Wrong, "; "); got != tt.want {
			t.Errorf("%d, %v: got %q, want %q", tt.n, tt.ranked, got, tt.want)
		}
	}
}
