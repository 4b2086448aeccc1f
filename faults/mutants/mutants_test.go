package mutants

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// variable says which mutants are run: those whose names match.
const variable = "FAULTS_MUTANTS"

// tries is how often a command may miss a defect, because the moment at which a fault
// strikes is random.
const tries = 3

// TestPatchesApply fails if a patch no longer applies.
func TestPatchesApply(t *testing.T) {
	t.Parallel()
	all, err := readMutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if err := apply(root, m.file, "--check"); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestMutants checks that each defect is found. First the same commands must pass without
// any defect: a suite that always fails proves nothing. It runs one command at a time,
// because those of the suite need the machine to themselves.
func TestMutants(t *testing.T) {
	which := os.Getenv(variable)
	if which == "" {
		t.Skip(variable + " is not set")
	}
	all := chosen(t, which)
	if !t.Run("none", func(t *testing.T) { sound(t, all) }) {
		return
	}
	var found []finding
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) { found = append(found, find(t, m)...) })
	}
	t.Log(table(found))
}

func chosen(t *testing.T, which string) (some []mutant) {
	t.Helper()
	names, err := regexp.Compile(which)
	if err != nil {
		t.Fatal(err)
	}
	all, err := readMutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if names.MatchString(m.name) {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		t.Fatalf("no mutant matches %s", which)
	}
	return some
}

// sound runs the commands on the tree as it is.
func sound(t *testing.T, all []mutant) {
	tree, done := copied(t), map[string]bool{}
	for _, m := range all {
		for _, c := range m.checks {
			if done[c.run] {
				continue
			}
			done[c.run] = true
			r, err := tree.run(c.run, "")
			if err != nil {
				t.Fatal(err)
			}
			if r.failed {
				t.Errorf("%s\nfails without any defect:\n%s", c.run, r.output)
				continue
			}
			t.Logf("passes in %v: %s", r.took.Round(time.Second), c.run)
		}
	}
}

// copied is a copy of the tree, for this test. It is not in t.TempDir, because the suite
// has sockets, whose paths must be short.
func copied(t *testing.T) tree {
	t.Helper()
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	tree, err := copyTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// A finding is how a command has found a defect.
type finding struct {
	mutant string
	run    string
	said   string
	try    int // which try it was; 0 if none found it
	took   time.Duration
}

func find(t *testing.T, m mutant) (all []finding) {
	t.Log(m.what)
	tree := copied(t)
	if err := apply(tree.dir, m.file); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.checks {
		all = append(all, tree.find(t, m.name, c))
	}
	return all
}

func (tree tree) find(t *testing.T, name string, c check) finding {
	t.Helper()
	f := finding{mutant: name, run: c.run}
	for try := 1; try <= tries; try++ {
		r, err := tree.run(c.run, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		f.took += r.took
		said := c.says.FindString(r.output)
		switch {
		case r.failed && said != "":
			f.said, f.try = said, try
			return f
		case r.failed:
			t.Errorf("%s\nfails, but does not say %v:\n%s", c.run, c.says, r.output)
			return f
		}
	}
	t.Errorf("not found %d times: %s", tries, c.run)
	return f
}

// table formats findings for people.
func table(all []finding) string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ndefect\tfound\ttry\tafter\tby")
	for _, f := range all {
		said, try := f.said, fmt.Sprint(f.try)
		if f.try == 0 {
			said, try = "NOT FOUND", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%s\n", f.mutant, said, try, f.took.Round(time.Second), f.run)
	}
	_ = w.Flush()
	return s.String()
}
