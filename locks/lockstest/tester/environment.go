package tester

import "strings"

// Environment returns a getenv for "NAME=value" items, without any settings of the
// tester.
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
