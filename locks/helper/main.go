package helper

import (
	"fmt"
	"os"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/isolate"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/locks/program/version"
)

// The exit statuses of a helper.
const (
	exitUsage    = 64 // it was started by hand
	exitProtocol = 70 // its input made no sense
)

// Main serves one lock of the given backend on standard input and output, and
// returns the exit status of the program: 0 after the input has ended. The
// whole program leaderrun-etcd is
//
//	func main() { os.Exit(helper.Main("etcd", etcd.Open)) }
//
// The backend is not closed: the program ends, and that frees all it uses
// without a farewell to its server that could take time.
func Main(scheme string, open locks.Opener) int {
	if byHand() {
		return introduce(scheme)
	}
	isolate.Process()
	threads.Reserve()
	out := os.Stdout
	os.Stdout = os.Stderr // what a library prints is log, never protocol
	if err := newServer(scheme, open, out, os.Stderr).serve(input(), version.Number()); err != nil {
		fmt.Fprintf(os.Stderr, "leaderrun-%s: the core sent %v\n", scheme, err)
		return exitProtocol
	}
	return 0
}

// byHand reports whether a person started the program: the core gives no
// arguments, and a pipe.
func byHand() bool {
	fi, err := os.Stdin.Stat()
	return len(os.Args) > 1 || err != nil || fi.Mode()&os.ModeCharDevice != 0
}

// introduce says what the program is.
func introduce(scheme string) int {
	asked := len(os.Args) == 2 && (os.Args[1] == "--version" || os.Args[1] == "--help" || os.Args[1] == "-h")
	to, status := os.Stderr, exitUsage
	if asked {
		to, status = os.Stdout, 0
	}
	_, _ = fmt.Fprintf(to, "leaderrun-%s %s is the part of leaderrun that keeps locks in %[1]s; leaderrun starts it by itself.\n"+
		"Run: leaderrun --backend %[1]s -- COMMAND\n", scheme, version.Number())
	return status
}
