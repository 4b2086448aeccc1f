package options

import (
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

const ours = "LEADERRUN_"

// told are the variables, without LEADERRUN_, that we set for jobs, hooks and other commands, and
// that a leaderrun among these inherits; and those of installations and tests.
var told = []string{
	"TOKEN", "LOCK_NAME", "HOLDER", "SOCKET", "SLOT",
	"HOOK", "REASON", "LEADER", "EXIT_STATUS",
	"LIBEXEC",
}

// A Misspelling is a variable of the environment that nothing reads, and the one that is
// probably meant; or the variable of an option that leaderrun had, and what to use instead.
type Misspelling struct{ Variable, Near, Instead string }

// Misspellings returns those of an environment. They would be ignored, and an ignored address
// is that of another store. Another's backend may read variables that begin with its scheme.
func Misspellings(environ []string, backend string) (all []Misspelling) {
	scheme, _, _ := strings.Cut(backend, ":")
	var names []string
	for _, kv := range environ {
		variable, value, _ := strings.Cut(kv, "=")
		name, is := strings.CutPrefix(variable, ours)
		if !is || value == "" || slices.Contains(told, name) || known.Find(scheme) == nil && strings.HasPrefix(name, strings.ToUpper(scheme)+"_") {
			continue
		}
		if names == nil { // seldom
			names = variables()
		}
		if instead := insteadOf(name); instead != "" {
			all = append(all, Misspelling{Variable: variable, Instead: instead})
			continue
		}
		if near := locks.Nearest(name, names); near != "" && !slices.Contains(names, name) {
			all = append(all, Misspelling{Variable: variable, Near: ours + near})
		}
	}
	return all
}

// variables returns all that we read or set, without LEADERRUN_.
func variables() []string {
	names := slices.Clone(told)
	for _, o := range NewValues().Table() {
		if v := o.Variable(); v != "" {
			names = append(names, strings.TrimPrefix(v, ours))
		}
	}
	for _, b := range known.Backends() {
		for _, v := range b.Variables {
			if name, is := strings.CutPrefix(v.Name, ours); is {
				names = append(names, name)
			}
		}
	}
	return names
}
