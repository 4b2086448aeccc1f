package action

import "syscall"

// atStart has the actions that the Go runtime gave the signals on which it prints the stacks
// of all goroutines and exits with 2. Until [Restore], these signals have their default
// action. The package imports only syscall, so that this is among the first things that we
// do. What the runtime does before that, in half a millisecond, is out of our reach.
var atStart = map[syscall.Signal]*Action{
	syscall.SIGQUIT: byDefault(syscall.SIGQUIT),
	syscall.SIGABRT: byDefault(syscall.SIGABRT),
}

// byDefault gives a signal its default action, and returns the action before.
func byDefault(sig syscall.Signal) *Action {
	before, ok := Of(sig)
	if !ok {
		return nil
	}
	now := before
	*now.Handler() = ByDefault
	now.Set(sig)
	return &before
}

// Restore gives a signal back to the Go runtime. Package signal needs that to catch it.
func Restore(sig syscall.Signal) {
	if a := atStart[sig]; a != nil {
		a.Set(sig)
	}
}
