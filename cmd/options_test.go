package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/options"
)

// told are the variables that the job is given: none of them may be an
// option's, or it would change what a leaderrun in the job does.
var told = []string{"LEADERRUN_TOKEN", "LEADERRUN_LOCK_NAME", "LEADERRUN_HOLDER", "LEADERRUN_SOCKET"}

// TestEveryOptionHasItsVariable holds for all options of run but those that ask
// for something else.
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
		if slices.Contains(told, want) {
			t.Errorf("--%s and the job's own variable are the same: %s", name, want)
		}
	}
}

// TestNamesAreUnique would find an option, or a short form, given twice.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	for _, c := range Commands() {
		seen := map[string]bool{}
		for _, o := range c.Options() {
			for _, name := range []string{o.Name, o.Short, o.Variable()} {
				if seen[name] && name != "" {
					t.Errorf("%s: %s is there twice", c.Name, name)
				}
				seen[name] = true
			}
		}
	}
}
