package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// survivors has a decision about each survivor that is known, by its key.
type survivors map[string]string

// readSurvivors reads a file of paragraphs: a decision, in lines that begin with "#", and the
// keys that it is about.
func readSurvivors(name string) (survivors, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s := survivors{}
	decision := ""
	for n, line := range strings.Split(string(b), "\n") {
		switch {
		case line == "":
			decision = ""
		case line[0] == '#':
			decision += line
		case decision == "", s[line] != "":
			return nil, fmt.Errorf("%s:%d: no decision, or two", name, n+1)
		default:
			s[line] = decision
		}
	}
	return s, nil
}

// news returns what is new about the result of a mutant, or "".
func (s survivors) news(m *mutant) string {
	noticed := m.result == caught || m.result == hangs
	switch listed := s[m.key] != ""; {
	case listed && noticed:
		return fmt.Sprintf("listed, but %s: %s\n", m.result, m.key)
	case !listed && (m.result == survived || m.result == notReached):
		return fmt.Sprintf("%s: %s\n\t%s\n", m.result, m.key, m.where)
	}
	return ""
}

// gone returns the keys that are listed for the packages of some mutants, but that none has.
func (s survivors) gone(mutants []*mutant) []string {
	packages, keys := map[string]bool{}, map[string]bool{}
	for _, m := range mutants {
		packages[m.pkg.name], keys[m.key] = true, true
	}
	var gone []string
	for key := range s {
		if of, _, _ := strings.Cut(key, " "); packages[of] && !keys[key] {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	return gone
}

// complete reports whether all that survive, or may, are listed.
func (s survivors) complete(mutants []*mutant) bool {
	return !slices.ContainsFunc(mutants, func(m *mutant) bool {
		return (m.result == survived || m.result == notReached || m.result == tooLate) && s[m.key] == ""
	})
}

// table returns how many mutants of each package have which result.
func table(mutants []*mutant) string {
	counts := map[string]map[result]int{}
	for _, m := range mutants {
		if counts[m.pkg.name] == nil {
			counts[m.pkg.name] = map[result]int{}
		}
		counts[m.pkg.name][m.result]++
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tcaught\thangs\tsurvived\tnot reached\tno time\tnot run")
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", name, c[caught], c[hangs], c[survived], c[notReached], c[tooLate], c[notRun])
	}
	_ = w.Flush()
	return b.String()
}
