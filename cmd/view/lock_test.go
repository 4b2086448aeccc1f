package view

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// held returns a lock with a holder.
func held(name, holder string, token uint64) Lock {
	return newLock(name, locks.State{Status: locks.Status{
		Held: true, Holder: holder, RunID: "run-" + holder, Since: now.Add(-3 * time.Minute), Token: token,
	}}, nil, now)
}

func names(all []Lock) (list []string) {
	for _, l := range all {
		list = append(list, l.Name)
	}
	return list
}

func TestIs(t *testing.T) {
	t.Parallel()
	l := held("a", "x", 1)
	for left, want := range map[time.Duration]string{0: Held, time.Second: Held, -time.Second: Lapsed} {
		if l.Left = left; l.Is() != want {
			t.Errorf("with %v left: %s; want %s", left, l.Is(), want)
		}
	}
	if got := new(Lock).Is(); got != Free {
		t.Errorf("a lock that nobody holds is %s", got)
	}
}

func TestWithoutLeft(t *testing.T) {
	t.Parallel()
	all := sample()
	old := withoutLeft(all)
	if left(&old[0]) != "-" || old[2].Is() != Lapsed {
		t.Errorf("left is %s, and a lease that is over is %s; want -, and lapsed", left(&old[0]), old[2].Is())
	}
	if all[0].Left == 0 {
		t.Error("the original was changed")
	}
}

// TestOdd: what makes no sense is shown, and is not an error.
func TestOdd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status locks.Status
		record string
		want   string
	}{
		"nothing":      {locks.Status{Held: true, Holder: "x", Since: now.Add(time.Second)}, "", ""},
		"no record":    {locks.Status{Held: true}, "", "the record of its holder is invalid"},
		"a free lock":  {locks.Status{}, "", ""},
		"the future":   {locks.Status{Held: true, Holder: "x", Since: now.Add(time.Hour)}, "", "since a time in the future"},
		"garbage":      {locks.Status{}, "no JSON", "read the lock's record: "},
		"another form": {locks.Status{}, `{"v":9}`, "it has version 9"},
		"a late run":   {locks.Status{}, `{"v":1,"runs":[{"spec":"day","done":[{"slot":1,"at":253402300800}]}]}`, "the time of its last run is invalid"},
		"an early run": {locks.Status{}, `{"v":1,"runs":[{"spec":"day","done":[{"slot":1,"at":-1}]}]}`, "the time of its last run is invalid"},
	} {
		l := newLock("a", locks.State{Status: test.status}, []byte(test.record), now)
		if _, err := json.Marshal(l.JSON()); err != nil {
			t.Errorf("%s: no JSON can be made of it: %v", name, err)
		}
		got := strings.Join(l.Odd, "\n")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: odd is %q; want %q", name, got, test.want)
		}
	}
}

func TestLastRun(t *testing.T) {
	t.Parallel()
	record := `{"v":1,"runs":[{"spec":"1h","done":[{"slot":1,"by":"old","at":10},{"slot":2,"by":"new","at":30,"token":7}]},
		{"spec":"day","done":[{"slot":1,"by":"other","at":20}]}]}`
	l := newLock("a", locks.State{}, []byte(record), now)
	if l.Last == nil || l.Last.By != "new" || l.Last.Spec != "1h" || l.Last.Token != 7 {
		t.Errorf("the last run is %+v; want that of new", l.Last)
	}
}

// TestSlots: slots are in the order of their numbers, and runs at the turnstile are shown as
// waiters for the first slot.
func TestSlots(t *testing.T) {
	t.Parallel()
	gate := held("jobs#0", "waiter 1", 5)
	gate.Queue, gate.Waiters = []locks.Place{{Holder: "waiter 2"}}, 1
	second := held("jobs#2", "b", 4)
	second.Waiters = 1 // waiter 1, as it sees it
	all := []Lock{held("jobs#10", "c", 3), second, gate, held("jobs#1", "a", 2), held("job", "other", 1)}
	sortLocks(all)
	all = seat(all)
	if got, want := names(all), []string{"job", "jobs#1", "jobs#2", "jobs#10"}; !slices.Equal(got, want) {
		t.Fatalf("got %q; want %q", got, want)
	}
	if got := all[1]; got.Waiters != 2 || len(got.Queue) != 2 || got.Queue[0].Holder != "waiter 1" {
		t.Errorf("the first slot has %d waiters: %+v", got.Waiters, got.Queue)
	}
	if all[2].Waiters != 0 {
		t.Errorf("the second slot has %d waiters; they are shown with the first", all[2].Waiters)
	}
}

// TestStopping: what the record says of a stop counts for the term that wrote it, and for no other.
func TestStopping(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]bool{
		`{"v":1,"stopping":{"token":7,"since":100,"kill":108}}`: true,
		`{"v":1,"stopping":{"token":6,"since":100,"kill":108}}`: false,
		`{"v":1,"stopping":{"token":7,"since":100,"kill":99}}`:  false,
		`{"v":1,"stopping":{"token":7,"since":-1,"kill":9e17}}`: false,
		`{"v":1}`: false,
	} {
		state := locks.State{Status: locks.Status{Held: true, Holder: "x", Token: 7}}
		if l := newLock("a", state, []byte(record), now); (l.Stopping != nil) != want {
			t.Errorf("%s: got %+v", record, l.Stopping)
		}
		state.Held = false
		if l := newLock("a", state, []byte(record), now); l.Stopping != nil {
			t.Errorf("%s, of a free lock: got %+v", record, l.Stopping)
		}
	}
}
