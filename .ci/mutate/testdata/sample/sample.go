// Package sample has code with a test that misses a part of it.
package sample

// A Counter counts up to a limit.
type Counter struct{ n, limit int }

// Add counts, and reports whether the limit has been reached.
func (c *Counter) Add(verbose bool) bool {
	if c.n < c.limit {
		c.n++
	}
	if verbose {
		println(c.n)
	}
	return c.n == c.limit
}
