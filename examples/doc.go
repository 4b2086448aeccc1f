// Package examples has no code: its tests run the examples in this directory, as they are,
// on this machine.
package examples
