package testscripts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// A job is a program that a script runs.
type job struct {
	cmd            *exec.Cmd
	args           []string
	cookie         string // in its environment, and of all that it starts
	stdout, stderr strings.Builder
	done           chan struct{} // closed when the job has ended and its output was read
	took           time.Duration // set then
}

// outputLimit is how long a process that a program left behind may keep its output open.
const outputLimit = 5 * time.Second

// launch starts a program. If tty is not "", the program gets a terminal, whose output
// goes to that file.
func launch(ts *testscript.TestScript, args []string, tty string) *job {
	j := &job{args: args, cookie: newCookie(), done: make(chan struct{})}
	j.cmd = exec.Command("env", args...) // env(1) looks in the script's PATH
	j.cmd.Dir = ts.MkAbs(".")
	j.cmd.Env = append(environ(ts), j.environment())
	j.cmd.Stdout, j.cmd.Stderr = &j.stdout, &j.stderr
	j.cmd.WaitDelay = outputLimit
	finish := func() {}
	detach(j.cmd)
	if tty != "" {
		finish = attach(ts, j.cmd, tty)
	}
	start := time.Now()
	ts.Check(j.cmd.Start())
	go func() {
		_ = j.cmd.Wait() // its final state is in ProcessState
		j.took = time.Since(start)
		finish()
		close(j.done)
	}()
	return j
}

// await waits until the program has ended, and checks its exit status.
func (j *job) await(ts *testscript.TestScript, limit time.Duration, code string) {
	select {
	case <-j.done:
	case <-time.After(limit):
		j.stop()
		j.show(ts)
		ts.Fatalf("the program has not ended within %v", limit)
	}
	j.show(ts)
	j.leavesNothing(ts)
	if got := codeOf(j.cmd.ProcessState); strconv.Itoa(got) != code && !diedOf(j.cmd.ProcessState, code) {
		j.hasRun(ts)
		ts.Fatalf("%v, want %s", j.cmd.ProcessState, code)
	}
}

// show makes the program's output that of the script's latest command.
func (j *job) show(ts *testscript.TestScript) {
	fmt.Fprint(ts.Stdout(), &j.stdout)
	fmt.Fprint(ts.Stderr(), &j.stderr)
	if strings.Contains(j.stderr.String(), "WARNING: DATA RACE") { // a race in a guard does not change the exit status
		ts.Fatalf("the race detector has found a race")
	}
}

// stop ends a program if it is running.
func (j *job) stop() {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		_ = j.cmd.Process.Signal(sig) // may have ended
		select {
		case <-j.done:
			return
		case <-time.After(2 * outputLimit):
		}
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	limit, args := within(ts, args)
	busy := len(args) > 0 && args[0] == "-busy"
	if busy {
		args = args[1:]
	}
	usage(ts, !neg && len(args) >= 2, "exits [-within TIME] [-busy] CODE PROGRAM [ARG...]")
	j := launch(ts, args[1:], "")
	for end := time.Now().Add(limit); busy && j.unanswered() && time.Now().Before(end); {
		ts.Logf("again, on a machine this busy: %s", &j.stderr)
		j = launch(ts, args[1:], "")
	}
	j.await(ts, limit, args[0])
}

// unanswered waits until the program has ended, and reports whether it ended because a
// server did not answer in the short time limit.
func (j *job) unanswered() bool {
	select {
	case <-j.done:
		return codeOf(j.cmd.ProcessState) == 69 && strings.Contains(j.stderr.String(), "no answer in time")
	case <-time.After(patience):
		return false
	}
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	tty := len(args) > 0 && args[0] == "-tty"
	if tty {
		args = args[1:]
	}
	usage(ts, !neg && len(args) >= 2, "start [-tty] NAME PROGRAM [ARG...]")
	w, name := worldOf(ts), args[0]
	if w.jobs[name] != nil {
		ts.Fatalf("%s already exists", name)
	}
	file := ""
	if tty {
		file = ts.MkAbs(name + ".tty")
	}
	j := launch(ts, args[1:], file)
	w.jobs[name] = j
	ts.Setenv(name+"_pid", strconv.Itoa(j.cmd.Process.Pid))
	ts.Defer(func() {
		if w.jobs[name] == j {
			j.stop()
			ts.Logf("left running: %s: %v\n%s%s", name, j.cmd.ProcessState, &j.stdout, &j.stderr)
		}
	})
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	limit, args := within(ts, args)
	usage(ts, !neg && len(args) == 2, "await [-within TIME] CODE NAME")
	w, name := worldOf(ts), args[1]
	j := w.jobs[name]
	if j == nil {
		ts.Fatalf("there is no %s", name)
	}
	delete(w.jobs, name)
	j.await(ts, limit, args[0])
}

// environ returns the script's environment, which testscript does not export.
func environ(ts *testscript.TestScript) []string {
	file := filepath.Join(ts.Getenv("WORK"), ".bin", "environ")
	ts.Check(ts.Exec("sh", "-c", `exec env -0 >"$1"`, "sh", file))
	return strings.Split(strings.TrimSuffix(ts.ReadFile(file), "\x00"), "\x00")
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "signal SIGNAL NAME|FILE")
	sig := unix.SignalNum("SIG" + args[0])
	if n, err := strconv.Atoi(args[0]); err == nil {
		sig = syscall.Signal(n)
	}
	if sig == 0 {
		ts.Fatalf("there is no signal %s", args[0])
	}
	if j := worldOf(ts).jobs[args[1]]; j != nil {
		ts.Check(j.cmd.Process.Signal(sig))
		return
	}
	ts.Check(unix.Kill(readPID(ts, args[1]), sig))
}

func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 1 || len(args) == 2), "end FILE [CODE]")
	code := "0"
	if len(args) == 2 {
		code = args[1]
	}
	var f *os.File
	eventually(ts, patience, args[0]+" is ready to be told to end", func() (ok bool) {
		var err error
		f, err = os.OpenFile(ts.MkAbs(args[0]+".end"), os.O_WRONLY|unix.O_NONBLOCK, 0)
		return err == nil
	})
	_, err := f.WriteString(code + "\n")
	ts.Check(err)
	ts.Check(f.Close())
	worldOf(ts).toldToEnd[ts.MkAbs(args[0])] = true
}
