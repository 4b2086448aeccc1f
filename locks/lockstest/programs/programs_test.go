package programs

import (
	"os"
	"strings"
	"testing"
)

// TestAsTheMakefile checks that the tags are those of `make build`.
func TestAsTheMakefile(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nTAGS    = " + tags + "\n"; !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile has no line %q", want)
	}
}

// TestSum: two builds of the same source have the same sum, and another program another one.
func TestSum(t *testing.T) {
	t.Parallel()
	sum := func(p *Programs) string {
		t.Cleanup(p.Remove)
		s := ""
		err := p.Build(Subject)
		if err == nil {
			s, err = p.Sum()
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, other := sum(&Programs{}), sum(&Programs{}), sum(&Programs{LDFlags: "-s"})
	if a != b || a == other {
		t.Errorf("got %s, %s, and of another program %s", a, b, other)
	}
}
