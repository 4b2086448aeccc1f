package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/options"
)

// jobVariables are set for the job. None of them may be an option's variable, or it would
// change what a leaderrun in the job does.
var jobVariables = []string{"LEADERRUN_TOKEN", "LEADERRUN_LOCK_NAME", "LEADERRUN_HOLDER", "LEADERRUN_SOCKET"}

// TestEveryOptionHasItsVariable: all options of a run have a variable, except those that
// replace the command.
func TestEveryOptionHasItsVariable(t *testing.T) {
	t.Parallel()
	for _, o := range Commands()[0].Options() {
		name := o.Name
		if name == options.HelpName || name == options.HelpAllName || name == options.VersionName {
			if o.Variable() != "" {
				t.Errorf("--%s has the variable %s", name, o.Variable())
			}
			continue
		}
		want := "LEADERRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if o.Variable() != want {
			t.Errorf("--%s has the variable %q, want %s", name, o.Variable(), want)
		}
		if slices.Contains(jobVariables, want) {
			t.Errorf("--%s has a variable that the job is given: %s", name, want)
		}
	}
}

// TestNamesAreUnique fails if two options have the same name, short form or variable.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	for _, c := range Commands() {
		seen := map[string]bool{}
		for _, o := range c.Options() {
			for _, name := range []string{o.Name, o.Short, o.Variable()} {
				if seen[name] && name != "" {
					t.Errorf("%s: two options have the name %s", c.Name, name)
				}
				seen[name] = true
			}
		}
	}
}
