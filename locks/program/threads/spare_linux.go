//go:build amd64 || arm64

package threads

// How many threads our programs may need in addition to those that they have when they start.
// In 500 runs, some of which collected garbage all the time, a core needed up to 4 when its job
// ran, and a guard or a helper none. But the fault suite has met a core with 4 that needed one
// more: its threads had been stopped in system calls. So each has more than was ever seen.
const (
	OfCore   = 8
	OfGuard  = 3
	OfHelper = 5
)
