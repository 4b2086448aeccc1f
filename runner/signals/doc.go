// Package signals has the names of signals, as in kill(1), and does with signals what
// package os/signal cannot do.
package signals
