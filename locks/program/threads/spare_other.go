//go:build !linux || !(amd64 || arm64)

package threads

// How many threads our programs may need in addition to those that they have when they start.
// Package os/signal takes two, and each goroutine of a guard may need one.
const (
	OfCore   = 6
	OfGuard  = 6
	OfHelper = 6
)
