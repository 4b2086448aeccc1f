package oracle

import "strings"

// kills reports whether a kind of fault is that leaderrun was killed, alone or with
// others.
func kills(what string) bool {
	return strings.Contains(what, "kill") && strings.Contains(what, "leaderrun")
}
