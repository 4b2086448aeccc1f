//go:build unix

package guard

// SetSweep sets what leaderrun kills the job with when it takes over, which reports whether
// nothing is left. It gets the groups that are known.
func (g *Client) SetSweep(f func(groups []int) (clean bool)) {
	g.sweep = func(j *job) bool { return f(j.groups()) }
}
