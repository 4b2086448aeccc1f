package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// told are the variables that the job is given: none of them may be an
// option's, or it would change what a leaderrun in the job does.
var told = []string{"LEADERRUN_TOKEN", "LEADERRUN_LOCK_NAME", "LEADERRUN_HOLDER", "LEADERRUN_SOCKET"}

// TestEveryOptionHasItsVariable holds for all options of run but those that ask
// for something else.
func TestEveryOptionHasItsVariable(t *testing.T) {
	t.Parallel()
	for _, f := range find(testCommands(), "run").Flags {
		name := f.Names()[0]
		vars := f.(cli.DocGenerationFlag).GetEnvVars()
		if name == helpName || name == versionName {
			if len(vars) > 0 {
				t.Errorf("--%s has the variables %v", name, vars)
			}
			continue
		}
		want := "LEADERRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if !slices.Equal(vars, []string{want}) {
			t.Errorf("--%s has the variables %v, want %s", name, vars, want)
		}
		if slices.Contains(told, want) {
			t.Errorf("--%s and the job's own variable are the same: %s", name, want)
		}
	}
}

// TestNamesAreUnique would find an option, or a short form, given twice.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	for _, c := range testCommands() {
		seen := map[string]bool{}
		for _, f := range c.Flags {
			for _, name := range append(f.Names(), f.(cli.DocGenerationFlag).GetEnvVars()...) {
				if seen[name] {
					t.Errorf("%s: %s is there twice", c.Name, name)
				}
				seen[name] = true
			}
		}
	}
}

// TestDefaultsAreWhatHelpSays compares the texts of help with the values.
func TestDefaultsAreWhatHelpSays(t *testing.T) {
	t.Parallel()
	for _, f := range newOptions().flags() {
		g, ok := f.(*cli.GenericFlag)
		if !ok || g.DefaultText == "" {
			continue
		}
		if err := g.Value.Set(g.DefaultText); err != nil {
			if g.Name != "kill-after" { // says more than a value
				t.Errorf("--%s: its default makes no sense: %v", g.Name, err)
			}
			continue
		}
		said := g.Value.String()
		for _, fresh := range newOptions().flags() {
			if fresh.Names()[0] == g.Name && fresh.(*cli.GenericFlag).Value.String() != said {
				t.Errorf("--%s is %s by default, and help says %s", g.Name, fresh.(*cli.GenericFlag).Value.String(), said)
			}
		}
	}
}
