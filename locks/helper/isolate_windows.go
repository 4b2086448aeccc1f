package helper

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// isolate shields the helper from the console's Ctrl-C, upon which the core
// decides.
func isolate() { signal.Ignore(os.Interrupt, syscall.SIGTERM) }

func input() io.Reader { return os.Stdin }
