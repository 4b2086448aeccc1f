package oracle

import (
	"reflect"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// TestFigures measures a made-up history. With a TTL of 6 s, J and X are 0.4 s each.
func TestFigures(t *testing.T) {
	t.Parallel()
	h := history([]made{
		{host: "a", token: 1, begun: 0, first: 1, last: 10, ended: 10.1, until: 14, child: [2]float64{2, 9}},    // by itself
		{host: "b", token: 2, begun: 0, first: 10.2, last: 19.5, ended: 19.6, until: 20, status: 76, cut: true}, // at its deadline, cut off
		{host: "c", token: 3, begun: 0, first: 22, last: 30, ended: 30.1, until: 35},                            // by itself, with the server away
		{host: "a", token: 4, begun: 11, first: 33, last: 40, ended: 40.01, until: 44, status: 137},             // killed
		{host: "b", token: 5, begun: 20, first: 40.5, last: 50, ended: 50.1, until: 55},                         // by itself, with another host cut off
		{host: "c", token: 6, begun: 31, first: 51, last: 60, ended: 60.1},                                      // by itself, after the fault
		{host: "b", token: 7, begun: 51, first: 60.25, last: 70, ended: 70.1, until: 70.7},                      // 0.1 s after it was to be killed
		{host: "a", token: 8, begun: 0, first: 72, last: 80, ended: 80.1, cut: true},                            // after a host was stopped; ended by something else
		{host: "c", token: 9, begun: 0, first: 80.4, last: 90, ended: 90.1},
	},
		struck("blackhole", "b", 15, 21),
		struck("outage", "", 29, 31),
		struck("kill leaderrun", "a", 39.99, 39.995),
		struck("blackhole", "a", 45, 52),
		struck("stop", "c", 61, 65),
		struck("stop", "b", 69.9, 71))
	got := Judge(h, Options{TTL: 6 * time.Second, Network: []string{"blackhole"}})
	if len(got.Wrong) != 0 {
		t.Errorf("wrong: %q", got.Wrong)
	}
	ms := func(all ...int) (d []time.Duration) {
		for _, n := range all {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	want := Figures{
		Terms: 9, Faults: map[string]int{"blackhole": 2, "outage": 1, "kill leaderrun": 1, "stop": 2},
		Gap:       Least{8, 200 * time.Millisecond},
		Slack:     Least{6, 500 * time.Millisecond},
		Late:      Most{2, 300 * time.Millisecond},
		HandOvers: ms(200, 250), Takeovers: ms(1000, 2000, 500, 2000, 400), Mixed: ms(1000),
	}
	if !reflect.DeepEqual(got.Figures, want) {
		t.Errorf("got  %+v\nwant %+v", got.Figures, want)
	}
}

// TestCounts counts what is wrong.
func TestCounts(t *testing.T) {
	t.Parallel()
	f := Judge(history(with(func(m []made) {
		m[0].child = [2]float64{2, 3.5}                  // an overlap and an orphan
		m[1].writes = []trace.Entry{refused(4, 4.1, 9)}  // one refused
		m[2].child, m[2].ended = [2]float64{7, 8.3}, 7.5 // two orphans
	})), Options{Dir: t.TempDir()}).Figures
	if f.Overlaps != 1 || f.Orphans != 3 || f.Refused != 1 {
		t.Errorf("got %d overlaps, %d orphans and %d refused writes; want 1, 3, 1", f.Overlaps, f.Orphans, f.Refused)
	}
}

// TestAdd adds figures to none, and to some.
func TestAdd(t *testing.T) {
	t.Parallel()
	one := Figures{Terms: 2, Faults: map[string]int{"a": 1}, Overlaps: 1, Orphans: 2, Refused: 3, Gap: Least{1, 5}, Slack: Least{1, -2}, Late: Most{1, 7},
		HandOvers: []time.Duration{1}, Takeovers: []time.Duration{2}, Mixed: []time.Duration{3}}
	two := Figures{Terms: 1, Faults: map[string]int{"a": 1, "b": 2}, Gap: Least{2, 4}, Slack: Least{0, -9}, Late: Most{0, 99}, HandOvers: []time.Duration{4}}
	var got Figures
	got.Add(one)
	got.Add(two)
	want := Figures{Terms: 3, Faults: map[string]int{"a": 2, "b": 2}, Overlaps: 1, Orphans: 2, Refused: 3, Gap: Least{3, 4}, Slack: Least{1, -2}, Late: Most{1, 7},
		HandOvers: []time.Duration{1, 4}, Takeovers: []time.Duration{2}, Mixed: []time.Duration{3}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if one.Faults["b"] != 0 {
		t.Error("what was added was changed")
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	all := []time.Duration{5, 1, 4, 2, 3}
	for _, tt := range []struct {
		q    float64
		want time.Duration
	}{{0, 1}, {0.2, 1}, {0.5, 3}, {0.99, 5}, {1, 5}} {
		if got := Quantile(all, tt.q); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.q, got, tt.want)
		}
	}
	if got := Quantile(nil, 0.5); got != 0 {
		t.Errorf("of none: got %v", got)
	}
}
