package queue_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

func TestWhatWasWrittenIsRead(t *testing.T) {
	t.Parallel()
	o := locks.Options{Holder: "host/1/\x00é", RunID: "run", TTL: 15 * time.Second, Version: "v1", Priority: -7, NoResign: true}
	got := statusOf(queue.NewLabel(o), 7)
	if got.Holder != o.Holder || got.RunID != "run" || got.TTL != o.TTL || got.Token != 7 || !got.Held || got.PID == 0 || !got.NoResign {
		t.Errorf("got %+v", got)
	}
	if age := time.Since(got.Since); age < 0 || age > time.Minute {
		t.Errorf("it was written %v ago", age)
	}
	if !queue.IsLabel(queue.NewLabel(o)) || queue.IsLabel([]byte(`{"holder":"x"}`)) {
		t.Error("a label is not told from other data")
	}
}

// TestPID is that of the process in whose name a helper program writes, or else
// of the one that writes.
func TestPID(t *testing.T) {
	t.Parallel()
	if got := statusOf(queue.NewLabel(locks.Options{PID: 7}), 1).PID; got != 7 {
		t.Errorf("got %d; want 7", got)
	}
	if got := statusOf(queue.NewLabel(locks.Options{}), 1).PID; got != os.Getpid() {
		t.Errorf("got %d; want our own, %d", got, os.Getpid())
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	o := locks.Options{Holder: "h", RunID: "run", Priority: -7}
	got := queue.ReadPlace(queue.NewLabel(o))
	if age := time.Since(got.Since); age < 0 || age > time.Minute {
		t.Errorf("it was written %v ago", age)
	}
	got.Since = time.Time{}
	if want := (locks.Place{Holder: "h", RunID: "run", Priority: -7}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	for _, data := range []string{"", "null", "\xff\x00", `{"holder":1}`, `{"run_id":"x","holder":1}`, `{"priority":1001}`, `{"priority":-1001}`, `{"priority":1e99}`} {
		if got := queue.ReadPlace([]byte(data)); got != (locks.Place{}) {
			t.Errorf("%q: got %+v", data, got)
		}
	}
}

// TestNonsenseIsLeftOut: a lock is held, whatever its label says.
func TestNonsenseIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "null", "\xff\x00", `{"holder":1}`, `{"ttl":"-1h"}`, `{"pid":-1}`, `{"holder":"` + strings.Repeat("x", 64<<10) + `"}`} {
		if got := statusOf([]byte(data), 7); got != (locks.Status{Held: true, Token: 7}) {
			t.Errorf("%.20q: got %+v", data, got)
		}
	}
}

// TestEnded: a lock whose session the server has ended is lapsed, or will be after Confirm.
func TestEnded(t *testing.T) {
	t.Parallel()
	of := func(h queue.Head) locks.Status { return queue.Line{Head: &h}.Status() }
	if got := of(queue.Head{Token: 7}); got != (locks.Status{Held: true, Token: 7}) {
		t.Errorf("before: %+v", got)
	}
	if got := of(queue.Head{Token: 7, Ended: true, Confirm: time.Minute}); !got.Held || got.Left >= 0 || got.Confirm != time.Minute {
		t.Errorf("ended: %+v", got)
	}
}

func statusOf(data []byte, token uint64) locks.Status {
	return queue.Line{Head: &queue.Head{Token: token, Label: data}}.Status()
}
