package faults

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/bench/conditions"
	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/report"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// A suite is one run of the fault suite.
type suite struct {
	run     conditions.Run
	length  time.Duration
	seed    uint64
	backend string         // the prefix of the names of cells
	results string         // the file to write; "" for none
	parts   string         // the directory for results of cells; "" for none
	records string         // the directory for the records of violations
	seeded  bool           // the seed was asked for
	only    *regexp.Regexp // which faults are used
	jobs    *regexp.Regexp // which manners of jobs are used

	mu     sync.Mutex
	rows   []report.Row
	others map[string]bool  // other runs, of which some rows are
	lacks  map[string]error // what this machine lacks
}

// How long the suite takes unless FAULTS_MINUTES says otherwise: in the short form, and
// with LEADERRUN_TEST_LONG=1.
const (
	shortRun = 20 * time.Second
	longRun  = 75 * time.Second
)

func TestMain(m *testing.M) {
	// Cells mostly wait. Two cores bear those of the short form at once; with twice as many, processes wait for a
	// processor longer than a lease.
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(7*runtime.NumCPU())); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// TestFaults is the suite.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	s := newSuite(t)
	if err := built.Build(programs.Leaderrun, programs.Subject, programs.Helpers); err != nil {
		t.Fatal(err)
	}
	if s.parts != "" && !s.keeps() {
		t.Logf("no part of %s is used or kept: they are of a commit (here: %s), and of all faults and jobs", s.parts, s.run.Commit)
	}
	t.Run("cells", func(t *testing.T) {
		for _, p := range plans() {
			if s.wants(p) {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					s.cell(t, p)
				})
			}
		}
	})
	if len(s.rows) == 0 && !t.Failed() {
		t.Fatalf("FAULTS_BACKEND=%s: no cell has a name with this prefix", s.backend)
	}
	page, err := s.page()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(page)
	if s.results != "" && s.backend == "" && s.only.String() == "" && s.jobs.String() == "" {
		if err := os.WriteFile(s.results, []byte(page), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// wants reports whether a cell is part of this run. The short form has one of each backend, and
// strict takeover once.
func (s *suite) wants(p plan) bool {
	if s.length == shortRun && s.backend == "" {
		return p.mode == "" && p.peer == nil || p.name == "etcd-strict" || p.name == "zookeeper"
	}
	return strings.HasPrefix(p.name, s.backend)
}

func (s *suite) row(p plan, v *oracle.Verdict) report.Row {
	r := report.Row{Backend: p.backend, Mode: p.mode, Subject: report.Subject, Figures: v.Figures, Wrong: len(v.Wrong), Took: s.length, Seed: s.seed}
	switch {
	case p.contender != nil:
		r.Mode += fmt.Sprintf(", which had %d jobs", v.Figures.Foreign)
	case p.ranked:
		r.Mode += fmt.Sprintf(", %d times with a choice", v.Figures.Choices)
	case p.drains:
		r.Mode += fmt.Sprintf(", of which %d are judged", v.Figures.Drains)
	case p.once != "":
		r.Mode += fmt.Sprintf(", %d of them with a job", v.Figures.Windows)
	case p.peer != nil:
		r.Subject = p.peer.subject
	case p.excludes != "":
		r.Subject += ", excludes " + p.excludes
	}
	return r
}

func (s *suite) add(r report.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, r)
}

// lack records what hosts lack here.
func (s *suite) lack(what map[string]error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.lacks, what) // a kind is the same for all hosts
}

// page returns the report.
func (s *suite) page() (string, error) {
	s.run.End()
	h := report.Header{Run: s.run, Took: s.length, TTL: ttl, Others: s.others, Backends: known.Backends(), Lacks: s.lacks, Excluded: excluded}
	var b strings.Builder
	err := report.Write(&b, h, s.rows)
	return b.String(), err
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{run: conditions.Begin(), lacks: map[string]error{}, others: map[string]bool{}, length: shortRun, seed: uint64(time.Now().UnixNano()), backend: os.Getenv("FAULTS_BACKEND"), results: os.Getenv("FAULTS_RESULTS"), parts: os.Getenv("FAULTS_PARTS")}
	s.records = cmp.Or(os.Getenv("FAULTS_KEEP"), os.TempDir())
	if tester.Long() {
		s.length = longRun
	}
	if text := os.Getenv("FAULTS_MINUTES"); text != "" {
		minutes, err := strconv.ParseFloat(text, 64)
		if err != nil || minutes <= 0 {
			t.Fatalf("FAULTS_MINUTES=%s is not a number of minutes", text)
		}
		s.length = time.Duration(minutes * float64(time.Minute))
	}
	if text := os.Getenv("FAULTS_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FAULTS_SEED=%s is not a number", text)
		}
		s.seed, s.seeded = seed, true
	}
	var err error
	if s.only, err = regexp.Compile(os.Getenv("FAULTS_ONLY")); err != nil {
		t.Fatalf("FAULTS_ONLY: %v", err)
	}
	if s.jobs, err = regexp.Compile(os.Getenv("FAULTS_JOBS")); err != nil {
		t.Fatalf("FAULTS_JOBS: %v", err)
	}
	if !slices.ContainsFunc(manners, func(m choice[manner]) bool { return s.jobs.MatchString(m.value.name) }) {
		t.Fatalf("FAULTS_JOBS=%s: no manner of jobs matches", s.jobs)
	}
	t.Logf("FAULTS_SEED=%d", s.seed)
	return s
}
