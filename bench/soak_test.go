//go:build bench && linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/bench/conditions"
)

// A soaked store has a holder and a waiter that stay, and a lock whose holders come and go.
type soaked struct {
	store
	stay []*exec.Cmd
	tmp  string // TMPDIR of all
	runs int    // of the other lock
	bad  int    // how many of these failed
}

// A level is what is in use at one moment.
type level struct {
	memory                               float64 // of holder and waiter that is no file's, in MB
	threads, descriptors, files, inStore int
}

// TestSoak watches for SOAK_MINUTES what leaderrun uses, on each store, while nothing happens to
// one lock and another changes hands every few seconds. It writes SOAK.md. In the second half of the
// time, no more files and entries of the store may be in use than in the first, no more than a tenth
// more memory and threads, and one more descriptor of a request that was just being made.
func TestSoak(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("SOAK_MINUTES"), 64)
	if err != nil {
		t.Skip("SOAK_MINUTES does not say how long")
	}
	length := time.Duration(minutes * float64(time.Minute))
	b := newBench(t)
	helpers, err := filepath.Glob(filepath.Join("..", "bin", "leaderrun-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range helpers {
		install(t, filepath.Dir(b.core), program)
	}
	b.conditions = conditions.Begin()
	var all []*soaked
	for _, start := range append(storeKinds, fileRecords) {
		all = append(all, b.soak(t, start(t)))
	}
	begun := time.Now()
	next := func(at time.Duration) {
		for time.Since(begun) < at {
			for _, s := range all {
				s.turn(b)
			}
			time.Sleep(2 * time.Second)
		}
	}
	next(length / 10)
	const samples = 20
	halves := [2]map[*soaked]level{{}, {}}
	for i := 1; i <= samples; i++ {
		next(length/10 + time.Duration(i)*length*9/10/samples)
		for _, s := range all {
			half := halves[(i-1)*2/samples]
			half[s] = half[s].max(s.level(t))
		}
	}
	b.conditions.End()
	var page strings.Builder
	fmt.Fprintf(&page, "# What is in use after hours\n\nWritten by `make soak`. A holder and a waiter stay for %v, and another lock changes hands every few seconds.\n"+
		"Each figure is the greatest of ten in the first half of the time, and of ten in the second.\n\n%v\n", length, b.conditions)
	page.WriteString("| store | runs of the other lock, failed | memory of both but of files, MB | threads | descriptors | files in TMPDIR | entries in the store |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range all {
		f, m := halves[0][s], halves[1][s]
		fmt.Fprintf(&page, "| %s | %d, %d | %.1f, %.1f | %d, %d | %d, %d | %d, %d | %d, %d |\n", s.name, s.runs, s.bad, f.memory, m.memory, f.threads, m.threads, f.descriptors, m.descriptors, f.files, m.files, f.inStore, m.inStore)
		if m.threads > f.threads*11/10 || m.descriptors > f.descriptors+1 || m.files > f.files || m.inStore > f.inStore || m.memory > f.memory*1.1 {
			t.Errorf("%s: something grows: %+v, later %+v", s.name, f, m)
		}
	}
	t.Log("\n" + page.String())
	if err := os.WriteFile("SOAK.md", []byte(page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// soak starts those who stay.
func (b *bench) soak(t *testing.T, s store) *soaked {
	t.Helper()
	k := &soaked{store: s, tmp: t.TempDir()}
	holder, waiter := b.pair(t, k.command(b, "stays", "sleep", "1000000"))
	k.stay = []*exec.Cmd{holder, waiter}
	return k
}

func (s *soaked) command(b *bench, lock string, job ...string) command {
	return command{argv: append([]string{b.core, "-b", s.url(s.addr), "-l", lock, "--"}, job...), env: []string{"TMPDIR=" + s.tmp}}
}

// turn lets the other lock change hands.
func (s *soaked) turn(b *bench) {
	s.runs++
	if b.prepare(s.command(b, "turns", "true")).Run() != nil {
		s.bad++
	}
}

func (s *soaked) level(t *testing.T) (l level) {
	t.Helper()
	for _, d := range demands(s.stay) {
		l.memory += d.anonymous / megabyte
		l.threads += d.threads
	}
	for _, cmd := range s.stay {
		for _, pid := range tree(cmd.Process.Pid) {
			l.descriptors += entries(t, fmt.Sprintf("/proc/%d/fd", pid))
		}
	}
	l.files, l.inStore = entries(t, s.tmp), s.records()
	return l
}

func (l level) max(m level) level {
	return level{max(l.memory, m.memory), max(l.threads, m.threads), max(l.descriptors, m.descriptors), max(l.files, m.files), max(l.inStore, m.inStore)}
}
