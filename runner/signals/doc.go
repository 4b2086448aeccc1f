// Package signals knows the names of signals, as kill(1) has them, and what package
// signal of the standard library cannot do with them.
package signals
