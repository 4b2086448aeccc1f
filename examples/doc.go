// Package examples has no code of its own: its tests run the examples that are
// beside it, as they are, on this machine.
package examples
