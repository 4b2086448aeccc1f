//go:build bench && linux

package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/bench/conditions"
)

const (
	// busy is the share of the processors' time from which others disturb a measurement.
	busy = 0.1
	// watched is how long they are watched while nothing is measured.
	watched = 10 * time.Second
)

// watch reports what others use while nothing is measured.
func (b *bench) watch(t *testing.T, when string) {
	t.Helper()
	var w conditions.Watch
	if err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(watched)
	b.judge(t, &w, true, fmt.Sprintf("in the %v %s", watched, when))
}

// judge fails if others have used too much. With BENCH_FORCE=1 the report says so instead.
func (b *bench) judge(t *testing.T, w *conditions.Watch, disk bool, when string) {
	t.Helper()
	share, by, err := w.Others(disk)
	if err != nil {
		t.Fatal(err)
	}
	b.others = append(b.others, fmt.Sprintf("%.0f %% %s", 100*share, when))
	if share < busy {
		return
	}
	b.disturbed = true
	if os.Getenv("BENCH_FORCE") != "1" {
		t.Fatalf("the machine is busy: others used %.0f %% of the processors' time %s (less than %.0f %% is quiet), most of all %s; "+
			"BENCH_FORCE=1 measures and reports nevertheless", 100*share, when, 100*busy, strings.Join(by, ", "))
	}
}
