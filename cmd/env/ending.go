package env

import (
	"context"
	"errors"
	"os"
)

// errInterrupted ends what goes on when somebody ends the program.
var errInterrupted = errors.New("interrupted")

// UntilEnded calls stop when we are sent a signal that ends us, and ends a context
// when the next one comes. The function that it returns says which signal came, if any.
func UntilEnded(stop context.CancelCauseFunc) (hurry context.Context, ended func() os.Signal) {
	hurry, cancel := context.WithCancel(context.Background())
	caught, first := make(chan os.Signal, 2), make(chan os.Signal, 1)
	Catch(caught, endings())
	go func() {
		first <- <-caught
		stop(errInterrupted)
		<-caught
		cancel()
	}()
	return hurry, func() os.Signal {
		select {
		case sig := <-first:
			return sig
		default:
			return nil
		}
	}
}
