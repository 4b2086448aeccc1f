// Command subject is the command that leaderruns run in tests of fleets: a job or
// a hook. The fault suite's jobs are those of "work".
//
//	subject job DURATION END [VICTIM PERCENT]
//	                     works for DURATION, and ends with success or failure; part
//	                     of the way it kills itself (job), its guard or leaderrun
//	subject hook         lives for a moment
//	subject nothing      starts and ends
//	subject work MANNER DURATION
//	                     works until TERM, or for DURATION and until it is not busy
//	                     (package trace), and writes to the fenced register; the
//	                     manners are in work.go
//	subject outlive      what a work leaves behind: ignores all signals
//	subject headless     the same, and its first thread has ended
//	subject relay        the same, and replaced by another process again and again
//	subject hide         the same, as another user
//	subject crowd        the same, and is many processes
//	subject flap         the same, and stops its parent again and again
//	subject pool         the same, and wants more children than it may have
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// failed is the exit status of a job that must fail.
const failed = 3

func main() {
	if os.Getenv(trace.PeerVariable) != "" && trace.PeerOf() == 0 {
		_ = os.Setenv(trace.PeerVariable, strconv.Itoa(os.Getppid())) // also for what we start
	}
	end(run(os.Args[1:]))
}

func end(status int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "subject:", err)
		status = 1
	}
	os.Exit(status)
}

func run(args []string) (int, error) {
	switch {
	case len(args) >= 3 && args[0] == "job":
		return job(args[1:])
	case len(args) == 1 && args[0] == "hook":
		return hook()
	case len(args) == 1 && args[0] == "nothing":
		return 0, nil
	case len(args) == 3 && args[0] == "work" && args[1] == beheaded:
		return headless(func() (int, error) { return work(args[1], args[2]) })
	case len(args) == 3 && args[0] == "work":
		return work(args[1], args[2])
	case len(args) == 1:
		if f, ok := left[args[0]]; ok {
			return f()
		}
	}
	return 0, errors.New("wrong usage")
}

func job(args []string) (int, error) {
	long, err := time.ParseDuration(args[0])
	if err != nil {
		return 0, err
	}
	e, life, err := begin("job")
	if err != nil {
		return 0, err
	}
	percent := 100
	if len(args) == 4 {
		if percent, err = strconv.Atoi(args[3]); err != nil {
			return 0, err
		}
	}
	first := long * time.Duration(percent) / 100
	time.Sleep(first)
	if len(args) == 4 && percent < 100 {
		if err := kill(e, args[2]); err != nil {
			return 0, err
		}
	}
	time.Sleep(long - first)
	status, kind := 0, trace.Success
	if args[1] != "success" {
		status, kind = failed, trace.Failure
	}
	if err := finish(e, life, kind); err != nil {
		return 0, err
	}
	if len(args) == 4 && percent >= 100 {
		return status, kill(e, args[2])
	}
	return status, nil
}

// kill kills a process of our run.
func kill(e trace.Entry, victim string) error {
	pid := map[string]int{"job": e.PID, "guard": e.Guard, "leaderrun": e.Leaderrun}[victim]
	if pid <= 1 {
		return fmt.Errorf("there is no %s to kill", victim)
	}
	e.Kind, e.What = trace.Kill, victim
	if err := trace.Add(e); err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

func hook() (int, error) {
	e, life, err := begin(os.Getenv("LEADERRUN_HOOK"))
	if err != nil {
		return 0, err
	}
	time.Sleep(30 * time.Millisecond)
	return 0, finish(e, life, trace.End)
}
