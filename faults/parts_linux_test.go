package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/faults/report"
)

// A part is the result of one cell. It is kept, so that a run that was interrupted can be continued.
type part struct {
	report.Row
	Commit, Date, Machine string // of its run
	Programs              string // their sum
	Failed                bool   // a run that is continued fails as well
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
	return k, err == nil && k.Programs == s.programs && k.Took == s.length && (!s.seeded || k.Seed == s.seed)
}

func (s *suite) keep(t *testing.T, p plan, r report.Row) {
	if !s.keeps() {
		return
	}
	text, err := json.Marshal(part{r, s.run.Commit, s.run.Date, s.run.Machine, s.programs, t.Failed()})
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
		if k.Commit != s.run.Commit || k.Machine != s.run.Machine {
			s.mu.Lock()
			s.others[fmt.Sprintf("%s, on %s, %s", k.Commit, k.Date, k.Machine)] = true
			s.mu.Unlock()
		}
		s.add(k.Row)
		return
	}
	share := contention.share()
	v := runCell(t, p, s)
	r := s.row(p, v)
	r.Pressure = share()
	s.keep(t, p, r)
	s.add(r)
}
