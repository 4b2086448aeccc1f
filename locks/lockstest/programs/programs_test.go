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

// TestSum: two builds of the same source have the same sum, and another program another one,
// unless it is left out.
func TestSum(t *testing.T) {
	t.Parallel()
	sum := func(p *Programs, without ...string) string {
		t.Cleanup(p.Remove)
		s := ""
		err := p.Build(Subject)
		if err == nil {
			s, err = p.Sum(without...)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, other := &Programs{}, &Programs{}, &Programs{LDFlags: "-s"}
	if sum(a) != sum(b) || sum(a) == sum(other) {
		t.Errorf("got %s, %s, and of another program %s", sum(a), sum(b), sum(other))
	}
	if none := sum(a, "subject"); none != sum(other, "subject") || none == sum(a) || sum(a) != sum(a, "another") {
		t.Error("a program that is left out is part of the sum, or another one is not")
	}
}
