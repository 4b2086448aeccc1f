package metrics

import (
	"os"
	"os/signal"
	"syscall"
)

// isolate shields the program from the console's Ctrl-C. It ends with its input.
func isolate() { signal.Ignore(os.Interrupt, syscall.SIGTERM) }
