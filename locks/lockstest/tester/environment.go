package tester

import "strings"

// Environment makes a getenv of "NAME=value" items, with nothing that the tester has set.
func Environment(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
