package env

import (
	"context"
	"errors"
	"os"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// UntilEnded calls stop when we receive a signal that ends programs, and ends the context
// forced at the second such signal. The function ended returns the first signal, or nil if
// there was none.
func UntilEnded(stop context.CancelCauseFunc) (forced context.Context, ended func() os.Signal) {
	forced, cancel := context.WithCancel(context.Background())
	caught, first := make(chan os.Signal, 2), make(chan os.Signal, 1)
	Catch(caught, signals.Endings())
	go func() {
		first <- <-caught
		stop(errInterrupted)
		<-caught
		cancel()
	}()
	return forced, func() os.Signal {
		select {
		case sig := <-first:
			return sig
		default:
			return nil
		}
	}
}
