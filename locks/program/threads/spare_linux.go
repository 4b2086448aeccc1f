//go:build amd64 || arm64

package threads

// How many threads our programs may need in addition to those that they have when they start.
// In 500 runs, some of which collected garbage all the time, a core needed up to 4 when its job
// ran, and a guard or a helper none.
const (
	OfCore   = 4
	OfGuard  = 1
	OfHelper = 2
)
