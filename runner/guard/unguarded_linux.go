package guard

import "github.com/leaderrun/leaderrun/runner/proc"

// killGroups does nothing: the processes of the groups are found as others are,
// while a group's id may be a stranger's.
func (j *job) killGroups() {}

// allDead reaps what has ended and reports whether nothing is left.
func (j *job) allDead(tree proc.Tree) bool {
	if !j.guardIsDead() {
		return false
	}
	seen, err := tree.Reap()
	return seen == 0 && err == nil
}
