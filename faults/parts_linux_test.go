package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/report"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// A part is the result of one cell. It is kept, so that a run that was interrupted can be continued.
type part struct {
	report.Row
	Commit, Date, Machine string // of its run
	Programs              string // the sum of those that it runs
	Failed                bool   // a run that is continued fails as well
}

func (s *suite) partFile(p plan) string { return filepath.Join(s.parts, p.name+".json") }

// keeps reports whether parts are kept: those of all faults and jobs, of a known source.
func (s *suite) keeps() bool {
	return s.parts != "" && s.only.String() == "" && s.jobs.String() == "" && !strings.Contains(s.run.Commit, " ")
}

// others names the helpers of other backends, which a cell does not run.
func (p plan) others() (programs []string) {
	for _, b := range known.Backends() {
		if b.Folder != p.backend {
			programs = append(programs, b.Program())
		}
	}
	return programs
}

// kept returns the result of a cell if it was run for as long or longer, of the same programs, which
// have this sum, with the seed that was asked for, if one was.
func (s *suite) kept(t *testing.T, p plan, sum string) (k part, ok bool) {
	text, err := os.ReadFile(s.partFile(p))
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return k, err == nil && k.Programs == sum && k.Took >= s.length && (!s.seeded || k.Seed == s.seed)
}

func (s *suite) keep(t *testing.T, p plan, r report.Row, sum string) {
	text, err := json.Marshal(part{r, s.run.Commit, s.run.Date, s.run.Machine, sum, t.Failed()})
	if err == nil {
		err = os.MkdirAll(s.parts, 0o755)
	}
	if err == nil {
		err = os.WriteFile(s.partFile(p), text, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// cell runs a cell, unless its result was kept.
func (s *suite) cell(t *testing.T, p plan) {
	if !s.keeps() {
		s.add(s.measure(t, p))
		return
	}
	sum, err := built.Sum(p.others()...)
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := s.kept(t, p, sum); ok {
		t.Logf("from %s", s.partFile(p))
		if k.Failed {
			t.Errorf("it has failed: see its output; without %s it is run again", s.partFile(p))
		}
		if k.Commit != s.run.Commit || k.Machine != s.run.Machine {
			s.mu.Lock()
			s.others[fmt.Sprintf("%s, on %s, %s", k.Commit, k.Date, k.Machine)] = true
			s.mu.Unlock()
		}
		s.add(k.Row)
		return
	}
	r := s.measure(t, p)
	s.keep(t, p, r, sum)
	s.add(r)
}

// measure runs a cell.
func (s *suite) measure(t *testing.T, p plan) report.Row {
	t.Helper()
	share := contention.share()
	v := runCell(t, p, s)
	r := s.row(p, v)
	r.Pressure = share()
	return r
}

// TestKept: the result of a cell is used if it was run for as long, of the same programs and seed.
func TestKept(t *testing.T) {
	t.Parallel()
	p := plan{name: "x"}
	s := &suite{parts: t.TempDir(), length: time.Minute, seed: 1}
	if _, ok := s.kept(t, p, "sum"); ok {
		t.Error("got a part, of which there is none")
	}
	s.keep(t, p, report.Row{Took: time.Minute, Seed: 1}, "sum")
	for _, c := range []struct {
		sum    string
		length time.Duration
		seed   uint64 // 0: none was asked for
		want   bool
	}{
		{"sum", time.Minute, 0, true},
		{"sum", time.Minute, 1, true},
		{"sum", time.Second, 1, true},
		{"sum", time.Hour, 1, false},
		{"sum", time.Minute, 2, false},
		{"another", time.Minute, 1, false},
	} {
		s.length, s.seed, s.seeded = c.length, c.seed, c.seed != 0
		if _, ok := s.kept(t, p, c.sum); ok != c.want {
			t.Errorf("%v: got %t", c, ok)
		}
	}
}

// TestOthers: a part is run again after a change of its backend's helper, and not of another one.
func TestOthers(t *testing.T) {
	t.Parallel()
	for _, p := range plans() {
		if got, all := len(p.others()), len(known.Backends()); got != all-1 {
			t.Errorf("%s: %d of %d backends are others than %s", p.name, got, all, p.backend)
		}
	}
	others := plan{backend: "kubernetes"}.others()
	if slices.Contains(others, "leaderrun-k8s") || !slices.Contains(others, "leaderrun-consul") {
		t.Errorf("a cell of kubernetes does not run %s", others)
	}
}
