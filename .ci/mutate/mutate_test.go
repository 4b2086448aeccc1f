package main

import (
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSample finds what the tests of a small package miss.
func TestSample(t *testing.T) {
	t.Parallel()
	all, err := prepare(t.TempDir(), []string{"./testdata/sample"})
	if err != nil {
		t.Fatal(err)
	}
	all.judge(regexp.MustCompile(""), nil, 1, time.Now().Add(time.Hour), func(m *mutant) { t.Log(survivors{}.news(m)) })
	got := map[string]result{}
	for _, m := range all.mutants {
		got[strings.TrimPrefix(m.key, ".ci/mutate/testdata/sample Counter.Add ")] = m.result
	}
	want := map[string]result{
		"true 1": notReached, "false 1": caught, "boundary 1": notReached, "assign 1": caught, // nobody adds once more
		"true 2": survived, "false 2": notReached, "call 1": notReached, // nobody reads what is printed
		"true 3": caught, "false 3": caught,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if (survivors{}).complete(all.mutants) {
		t.Error("survivors that are not listed are accepted")
	}
	listed := survivors{}
	for _, m := range all.mutants {
		if m.result != caught {
			listed[m.key] = "a decision"
		}
	}
	if !listed.complete(all.mutants) {
		t.Error("survivors that are listed are not accepted")
	}
	all.judge(regexp.MustCompile(""), listed, 1, time.Now(), func(*mutant) {})
	if listed.complete(all.mutants) {
		t.Error("a lack of time for mutants that are not listed is accepted")
	}
	listed["of another package"] = "a decision"
	if gone := listed.gone(all.mutants[1:]); len(gone) != 1 || gone[0] != all.mutants[0].key {
		t.Errorf("the key that no mutant has: got %q, want %q", gone, all.mutants[0].key)
	}
}
