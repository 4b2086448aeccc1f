package helper

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/isolate"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/locks/program/version"
)

// The exit statuses of a helper.
const (
	exitUsage    = 64 // started by hand
	exitProtocol = 70 // invalid input
)

// Main serves one lock of the given backend on standard input and output, and returns the
// exit status of the program: 0 after the input has ended. The whole of
// leaderrun-etcd is:
//
//	func main() { os.Exit(helper.Main("etcd", etcd.Open)) }
//
// Main does not close the backend: the program ends, which frees everything, without
// requests to the server that could take time.
func Main(scheme string, open locks.Opener) int {
	if byHand() {
		return introduce(scheme)
	}
	isolate.Process()
	isolate.Memory() // it has credentials
	threads.Reserve(threads.OfHelper)
	out := os.Stdout
	os.Stdout = os.Stderr // whatever a library prints belongs to the log
	if err := newServer(scheme, open, out, os.Stderr).serve(input(), version.Number()); err != nil {
		fmt.Fprintf(os.Stderr, "leaderrun-%s: the core sent %v\n", scheme, err)
		return exitProtocol
	}
	return 0
}

// byHand reports whether a person started the program. The core passes no arguments, and
// a pipe as standard input.
func byHand() bool {
	fi, err := os.Stdin.Stat()
	return len(os.Args) > 1 || err != nil || fi.Mode()&os.ModeCharDevice != 0
}

// introduce prints what the program is.
func introduce(scheme string) int {
	asked := len(os.Args) == 2 && (os.Args[1] == "--version" || os.Args[1] == "--help" || os.Args[1] == "-h")
	to, status := os.Stderr, exitUsage
	if asked {
		to, status = os.Stdout, 0
	}
	_, _ = fmt.Fprintf(to, "leaderrun-%s %s keeps locks in %[1]s for leaderrun, which starts it when needed.\n"+
		"Run: leaderrun --backend %[1]s -- COMMAND\n", scheme, version.Number())
	return status
}

// input returns standard input, read through the runtime's poller. A goroutine in a
// blocking read occupies a processor until the scheduler takes it away, which more than
// doubles the time of a round trip.
func input() io.Reader {
	if err := syscall.SetNonblock(0, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(0, os.Stdin.Name())
}
