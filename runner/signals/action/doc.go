// Package action has the actions of signals, as in sigaction(2), and lets a signal end us from
// the start as it ends other programs: QUIT and ABRT have their default action until they are
// caught. Go's runtime would print all goroutines and exit with 2. The package imports almost
// nothing, and so runs before most of the program; while the runtime starts before that, it still
// does so.
package action
