package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/record"
)

func TestWhatWasWrittenIsRead(t *testing.T) {
	t.Parallel()
	o := locks.Options{Holder: "host/1/\x00é", RunID: "run", TTL: 15 * time.Second, Version: "v1"}
	got := record.Status(record.New(o), 7)
	if got.Holder != o.Holder || got.RunID != "run" || got.TTL != o.TTL || got.Token != 7 || !got.Held || got.PID == 0 {
		t.Errorf("got %+v", got)
	}
	if age := time.Since(got.Since); age < 0 || age > time.Minute {
		t.Errorf("it was written %v ago", age)
	}
}

// TestNonsenseIsLeftOut: a lock is held, whatever its record says.
func TestNonsenseIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "null", "\xff\x00", `{"holder":1}`, `{"ttl":"-1h"}`, `{"holder":"` + strings.Repeat("x", 64<<10) + `"}`} {
		if got := record.Status([]byte(data), 7); got != (locks.Status{Held: true, Token: 7}) {
			t.Errorf("%.20q: got %+v", data, got)
		}
	}
}
