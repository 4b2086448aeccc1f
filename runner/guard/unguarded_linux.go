package guard

import "github.com/leaderrun/leaderrun/runner/proc"

// killGroups does nothing: the processes of the groups are found like all others. The id of
// a group may belong to others by now.
func (j *job) killGroups() {}

// allDead reaps processes that have ended. It reports whether none is left.
func (j *job) allDead(tree proc.Tree) bool {
	if !j.guardIsDead() {
		return false
	}
	seen, err := tree.Reap()
	return seen == 0 && err == nil
}
