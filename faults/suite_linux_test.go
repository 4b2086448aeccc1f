package faults

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/programs"
)

// A suite is one run of it.
type suite struct {
	length  time.Duration
	seed    uint64
	backend string // what the names of cells must begin with
	results string // the file to be written; "": none

	mu   sync.Mutex
	rows map[string]*oracle.Verdict
}

// short is how long the suite takes unless it is told otherwise.
const short = 75 * time.Second

func TestMain(m *testing.M) {
	// Cells wait most of their time; a machine of two cores runs all at once.
	flag.Parse()
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// TestFaults is the suite.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	s := newSuite(t)
	if err := built.Build(programs.Leaderrun); err != nil {
		t.Fatal(err)
	}
	t.Run("cells", func(t *testing.T) {
		for _, p := range plans() {
			if strings.HasPrefix(p.name, s.backend) {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					v := runCell(t, p, s.length, s.seed)
					s.mu.Lock()
					defer s.mu.Unlock()
					s.rows[p.name] = v
					t.Logf("%+v", v.Figures)
				})
			}
		}
	})
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{rows: map[string]*oracle.Verdict{}, length: short, seed: uint64(time.Now().UnixNano()), backend: os.Getenv("FAULTS_BACKEND"), results: os.Getenv("FAULTS_RESULTS")}
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
		s.seed = seed
	}
	t.Logf("FAULTS_SEED=%d", s.seed)
	return s
}
