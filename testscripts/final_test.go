package testscripts

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// This file has what nothing excuses in any script, however busy the machine is.

// newCookie returns a text for the environment of all that one program starts.
func newCookie() string { return fmt.Sprintf("script-%016x", rand.Uint64()) }

// leaderrun returns the arguments of leaderrun, if that is what the program is.
func (j *job) leaderrun() (args []string, ok bool) {
	for i, arg := range j.args {
		if filepath.Base(arg) == "leaderrun" {
			return j.args[i+1:], true
		}
		if !strings.Contains(arg, "=") && arg != "asuser" && (i == 0 || j.args[i-1] != "asuser") {
			break // it is an argument of something else
		}
	}
	return nil, false
}

// leavesNothing checks that a leaderrun that has ended by itself has left nothing of its job.
// In the tier pgroup, that may leave its group.
func (j *job) leavesNothing(ts *testscript.TestScript) {
	args, ok := j.leaderrun()
	if ws := j.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signaled() && ws.Signal() == syscall.SIGKILL || slices.Contains(args, "pgroup") {
		return
	}
	if !slices.Contains(args, "--") || slices.Contains([]int{64, 75, 77, 78, 127}, codeOf(j.cmd.ProcessState)) {
		return // it started nothing, and a look costs a file of each process
	}
	left, err := oracle.Leftovers(j.cookie)
	ts.Check(err)
	left = slices.DeleteFunc(left, func(line string) bool { return strings.Contains(line, "leaderrun") }) // a guard or a helper, which is about to end
	if len(left) > 0 {
		j.wrong(ts, "after the end of leaderrun these processes are left:\n%s", strings.Join(left, "\n"))
	}
}

// hasRun checks an exit status of 0 where another is wanted. It is final if the job cannot have
// run to its end: it is a stay that nobody has told to end, or a sleep that would last longer.
func (j *job) hasRun(ts *testscript.TestScript) {
	args, ok := j.leaderrun()
	if !ok || codeOf(j.cmd.ProcessState) != 0 || len(args) < 2 {
		return
	}
	what, arg := args[len(args)-2], args[len(args)-1]
	long, err := time.ParseDuration(arg + "s")
	switch {
	case what == "stay" && !worldOf(ts).toldToEnd[ts.MkAbs(arg)]:
		j.wrong(ts, "the exit status is 0, and nobody has told the job to end")
	case what == "sleep" && err == nil && j.took < long:
		j.wrong(ts, "the exit status is 0 after %v, and the job takes %v", j.took, long)
	}
}

// wrong fails the script for good.
func (j *job) wrong(ts *testscript.TestScript, format string, args ...any) {
	trial.Final(worldOf(ts).tb.(script).TB, strings.Join(j.args, " ")+": "+format, args...)
	ts.Fatalf("see above")
}

// environment returns what launch adds to a program's environment.
func (j *job) environment() string { return trace.CookieVariable + "=" + j.cookie }

// TestFinal has scripts run programs that only call themselves leaderrun: one leaves a process,
// the others exit with 0 though their job has not run to its end. A busy machine excuses none.
func TestFinal(t *testing.T) {
	t.Setenv(trial.RecordsVariable, "")
	for name, tt := range map[string]struct{ program, command, want string }{
		"left":  {`sleep 10 >/dev/null 2>&1 &`, "exits 3 leaderrun -- true", "these processes are left:\nsleep 10"},
		"stay":  {`exit 0`, "exits 76 leaderrun -- stay job", "nobody has told the job to end"},
		"sleep": {`exit 0`, "exits 124 leaderrun --max-runtime 1 -- sleep 100", "the job takes 1m40s"},
		"late":  {`exit 0`, "exits 76 leaderrun -- true", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(tt.command+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			attempts := 0
			r := trial.Run(t, func(tb testing.TB) {
				trial.SteadyAt(tb, 1, func(tb testing.TB, scale int) {
					attempts++
					testscript.RunT(script{tb, scale}, testscript.Params{Files: []string{filepath.Join(dir, name+".txtar")}, Cmds: scriptCommands(), Setup: func(env *testscript.Env) error {
						env.Setenv("PATH", env.WorkDir+":"+os.Getenv("PATH"))
						env.Values[worldKey{}] = newWorld(env, suite{})
						return errors.Join(
							os.Mkdir(filepath.Join(env.WorkDir, ".bin"), 0o755),
							os.WriteFile(filepath.Join(env.WorkDir, "leaderrun"), []byte("#!/bin/sh\n"+tt.program+"\n"), 0o755))
					}})
				})
			})
			if final := tt.want != ""; !r.Failed || (attempts == 1) != final || strings.Contains(r.Log, trial.FinalMark) != final || !strings.Contains(r.Log, tt.want) {
				t.Errorf("failed: %v, in %d attempts; want %q:\n%s", r.Failed, attempts, tt.want, r.Log)
			}
		})
	}
}
