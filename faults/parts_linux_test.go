package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/faults/report"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A part is the result of one cell. It is kept, so that a run that was interrupted can be continued.
type part struct {
	report.Row
	Commit string
	Failed bool // a run that is continued fails as well
}

func (s *suite) partFile(p plan) string { return filepath.Join(s.parts, p.name+".json") }

// keeps reports whether parts are kept: those of all faults and jobs, of a known source.
func (s *suite) keeps() bool {
	return s.parts != "" && s.only.String() == "" && s.jobs.String() == "" && !strings.Contains(s.run.Commit, " ")
}

// kept returns the result of a cell if it was run for as long, of the same programs, with the
// seed that was asked for, if one was.
func (s *suite) kept(t *testing.T, p plan) (k part, ok bool) {
	if !s.keeps() {
		return k, false
	}
	text, err := os.ReadFile(s.partFile(p))
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return k, err == nil && samePrograms(t, k.Commit, s.run.Commit) && k.Took == s.length && (!s.seeded || k.Seed == s.seed)
}

// samePrograms reports whether two commits differ only in this suite, in other tests or in
// documents.
func samePrograms(t *testing.T, a, b string) bool {
	if a == b {
		return true
	}
	out, err := exec.Command("git", "diff", "--name-only", a, b).Output()
	if err != nil {
		t.Logf("the result of commit %s is not used: %v", a, err)
		return false
	}
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		if !strings.HasPrefix(file, "faults/") && !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".md") {
			return false
		}
	}
	return true
}

func (s *suite) keep(t *testing.T, p plan, r report.Row) {
	if !s.keeps() {
		return
	}
	text, err := json.Marshal(part{r, s.run.Commit, t.Failed()})
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
	if k, ok := s.kept(t, p); ok {
		t.Logf("from %s", s.partFile(p))
		if k.Failed {
			t.Errorf("it has failed: see its output; without %s it is run again", s.partFile(p))
		}
		if k.Commit != s.run.Commit {
			s.mu.Lock()
			s.others[k.Commit] = true
			s.mu.Unlock()
		}
		s.add(k.Row)
		return
	}
	share := trial.Share()
	v := runCell(t, p, s)
	r := s.row(p, v)
	r.Pressure = share()
	s.keep(t, p, r)
	s.add(r)
}
