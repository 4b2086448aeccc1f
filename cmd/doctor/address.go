package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// settings says where the backend's address comes from, and has the backend check
// everything that it can check without a server. Warnings about the settings of a server are
// findings of the backend, which servers.go reports.
func (e *exam) settings(ctx context.Context) []Check {
	err := e.refused
	if err == nil {
		_, err = e.observer.abilities(ctx)
	}
	if err != nil {
		e.stop("its settings are wrong")
		return []Check{failed("settings", err)}
	}
	e.permanent = locks.IsPermanent(e.observer.Lock)
	set := e.variables()
	f := figures{"variables": set}
	text := "address from " + e.addressFrom(set)
	if len(set) > 0 {
		text += "; set: " + strings.Join(set, ", ")
	}
	return []Check{ok("settings", f, "%s", text)}
}

// addressFrom says what names the server or the directory.
func (e *exam) addressFrom(set []string) string {
	if e.backend.Host != "" || e.backend.Path != "" {
		return "the URL"
	}
	for _, name := range set {
		if slices.Contains(e.Addresses, name) || e.Foreign(e.backend.Scheme) && isAddress(name) {
			return name
		}
	}
	return "the backend's default"
}

// isAddress guesses from the name of a variable whether it names a store.
func isAddress(variable string) bool {
	return slices.ContainsFunc([]string{"ENDPOINTS", "HOSTS", "BUCKET", "_DIR"}, func(end string) bool {
		return strings.HasSuffix(variable, end)
	})
}

// variables returns the names of the variables that are set and that the backend reads.
// Their values may be secrets.
func (e *exam) variables() []string {
	own := "LEADERRUN_" + strings.ToUpper(e.backend.Scheme) + "_"
	var set []string
	for _, kv := range e.Environ {
		key, value, _ := strings.Cut(kv, "=")
		if value != "" && (slices.Contains(e.Variables, key) || strings.HasPrefix(key, own)) {
			set = append(set, locks.Printable(key))
		}
	}
	slices.Sort(set)
	return set
}
