// Mutate PACKAGES... checks that tests notice when the code is wrong. It changes one place of
// the packages at a time, such as a condition, and runs their tests. A change, called a mutant,
// that no test notices is a survivor. Mutate fails if there is one that survivors.txt does not
// list with a decision.
//
// All mutants are compiled into one test program per package, and a variable switches one of
// them on. So each costs a run of the tests, and no build. Those that make no difference while
// the tests run without any are not run.
//
//	MUTANTS           a regular expression for the keys of those that are run
//	MUTANTS_MINUTES   how long all may take (90); it fails if there was no time for one that is not listed
//	MUTANTS_SEED      their order, which matters if there is no time for all (1)
//
// A key is a package, a function, an operator, and a number among those of this operator in
// the function. It has no text of the source, so renaming something local does not change it.
package main

import (
	"cmp"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	ok, err := mutate(os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	if !ok {
		log.Fatal("mutants survive, or were not run, that .ci/mutate/survivors.txt does not list")
	}
}

// mutate reports whether all survivors are listed.
func mutate(patterns []string) (ok bool, err error) {
	wanted, err := regexp.Compile(os.Getenv("MUTANTS"))
	if err != nil {
		return false, err
	}
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("MUTANTS_MINUTES"), "90") + "m")
	if err != nil {
		return false, err
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("MUTANTS_SEED"), "1"), 10, 64)
	if err != nil {
		return false, err
	}
	listed, err := readSurvivors(".ci/mutate/survivors.txt")
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	began := time.Now()
	all, err := prepare(dir, patterns)
	if err != nil {
		return false, err
	}
	fmt.Printf("%d mutants; built, and the tests run without any, in %v\n", len(all.mutants), time.Since(began).Round(time.Second))
	all.judge(wanted, listed, seed, began.Add(limit), func(m *mutant) { fmt.Print(listed.news(m)) })
	for _, key := range listed.gone(all.mutants) {
		fmt.Printf("listed, but there is no such mutant: %s\n", key)
	}
	fmt.Printf("%sdone after %v, with the seed %d\n", table(all.mutants), time.Since(began).Round(time.Second), seed)
	return listed.complete(all.mutants), nil
}

// prepare builds the tests with all mutants, and runs them without any.
func prepare(dir string, patterns []string) (*set, error) {
	packages, err := list(patterns)
	if err != nil {
		return nil, err
	}
	all := &set{dir: dir, replace: map[string]string{}}
	for _, p := range packages {
		if err := all.instrument(p); err != nil {
			return nil, err
		}
	}
	if err := all.build(packages); err != nil {
		return nil, err
	}
	return all, all.try(packages)
}

// judge runs the tests of each mutant that is wanted, until it is too late, and reports each.
// Those that are listed come last: each takes all tests, which it most likely survives again.
func (all *set) judge(wanted *regexp.Regexp, listed survivors, seed uint64, until time.Time, report func(*mutant)) {
	var order []*mutant
	for _, n := range rand.New(rand.NewPCG(seed, 0)).Perm(len(all.mutants)) {
		if m := all.mutants[n]; wanted.MatchString(m.key) {
			order = append(order, m)
		}
	}
	slices.SortStableFunc(order, func(a, b *mutant) int { return cmp.Compare(listed[a.key], listed[b.key]) })
	together(order, func(m *mutant) { m.judge(until); report(m) })
}
