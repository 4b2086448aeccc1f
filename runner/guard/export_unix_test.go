//go:build unix

package guard

// SetSweep sets the function by which leaderrun kills a job without its guard. The function
// gets the known groups, and reports whether nothing is left.
func (g *Client) SetSweep(f func(groups []int) (clean bool)) {
	g.sweep = func(j *job) bool { return f(j.groups()) }
}
