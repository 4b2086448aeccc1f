// Package action has the actions of signals, as in sigaction(2), and lets a signal end us from
// the start as it ends other programs.
package action
