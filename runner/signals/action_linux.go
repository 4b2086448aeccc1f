package signals

import (
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/signals/action"
)

// ByDefault calls f while a signal has its default action. Package signal cannot do that: it
// never gives up a signal that it has caught once.
func ByDefault(sig syscall.Signal, f func()) {
	before, ok := action.Of(sig)
	if !ok {
		return
	}
	now := before
	*now.Handler() = action.ByDefault
	if now.Set(sig) {
		f()
		before.Set(sig)
	}
}

// change sets the handler of a signal to the value to, if it is from.
func change(sig syscall.Signal, from, to uintptr) {
	if a, ok := action.Of(sig); ok && *a.Handler() == from {
		*a.Handler() = to
		a.Set(sig)
	}
}

// Ignored reports whether a signal was ignored when we were started. The runtime does not
// know that of the signals by which a terminal suspends. It must be called before the
// signal is caught.
func Ignored(sig os.Signal) bool {
	a, ok := action.Of(sig.(syscall.Signal))
	return ok && *a.Handler() == action.Ignored
}
