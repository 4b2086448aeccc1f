package guard

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/cgroup"
	"github.com/leaderrun/leaderrun/runner/signals"
	"github.com/leaderrun/leaderrun/runner/terminal"
)

// role is the name by which the program becomes a guard.
const role = "leaderrun-guard"

// IsRole reports whether this process was started to be a guard. Then it must only call
// Main.
func IsRole(args []string) bool { return len(args) == 2 && args[0] == role }

// Main runs the guard. It returns the exit status.
func Main(args []string) int {
	// The first process's parent-death signal is bound to the thread that forks it
	// (golang/go#27505).
	runtime.LockOSThread()
	stderr, err := strconv.Atoi(args[1])
	if err != nil || stderr <= 2 {
		fmt.Fprintln(os.Stderr, role+": only leaderrun starts this program")
		return 64
	}
	signals.RestoreRTMIN() // for the job
	rename()
	threads.Reserve(threads.OfGuard)
	c, in, err := connect(stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		return 70
	}
	// What follows takes part of the time of the campaign, not of the start.
	ignoreSignals()
	m := machine{home: cgroup.Find()}
	g := newGuard(c, m)
	if in != nil {
		g.in = in
	}
	core := os.Getppid() // 0 in a pid namespace of our own
	g.tty = terminal.LentBy(core)
	g.run()
	if g.late > killPatience {
		sayLate(g.late, core)
	}
	return 0
}

// connect takes the socket from where standard error will be, and says that the guard is ready.
// If the Go runtime has ended us before, it has told leaderrun why.
func connect(stderr int) (line, inbox, error) {
	fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Dup2(stderr, 2); err != nil {
		return nil, nil, err
	}
	_ = unix.Close(stderr)
	c, in, err := newLine(fd)
	if err != nil {
		return nil, nil, err
	}
	_ = c.send(frame{kind: kindReady}) // if leaderrun has died, run sees that
	return c, in, nil
}

// sayLate says that the guard has killed the job late, because it got no processor, or the
// machine slept. Nothing of the job is left, and nobody waits for us, but whoever should read
// standard error may not.
func sayLate(late time.Duration, core int) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		fmt.Fprintf(os.Stderr, "%s: warning: killed the job %v late (of leaderrun %d)\n", role, late.Round(time.Millisecond), core)
	}()
	select {
	case <-said:
	case <-time.After(time.Second):
	}
}

// ignoreSignals drops the signals that a service manager or an operator may send to all
// processes, because leaderrun acts on them. It catches them, because the job would inherit
// ignored signals. Signals that were ignored when we were started stay ignored.
func ignoreSignals() {
	all := []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
	ignored := func(sig os.Signal) bool { return signal.Ignored(sig) || signals.Ignored(sig) }
	signals.Drop(slices.DeleteFunc(all, ignored)...)
}
