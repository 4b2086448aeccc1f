// Command subject is what the fleet's leaderruns run: a job, a service, hooks and
// a health check.
//
//	subject job DURATION END [VICTIM PERCENT]
//	                     works so long, and ends with success or failure; after a
//	                     part of that it kills itself (job), its guard or leaderrun
//	subject service      runs until TERM; with USR1 it fails
//	subject child LIFE   what a service starts in a session of its own; heeds no TERM
//	subject hook         lives for a moment
//	subject health DIR   fails if there is a file DIR/sick.TOKEN
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// failed is the exit status of what is to fail.
const failed = 3

func main() {
	status, err := run(os.Args[1:])
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
	case len(args) == 1 && args[0] == "service":
		return service()
	case len(args) == 2 && args[0] == "child":
		return child(args[1])
	case len(args) == 1 && args[0] == "hook":
		return hook()
	case len(args) == 2 && args[0] == "health":
		return health(args[1])
	}
	return 0, errors.New("wrong usage")
}

// begin writes down that we have begun, as what, and begins our life.
func begin(what string) (trace.Entry, *trace.Life, error) {
	token, err := strconv.ParseUint(os.Getenv("LEADERRUN_TOKEN"), 10, 64)
	if err != nil {
		return trace.Entry{}, nil, err
	}
	e := trace.Entry{
		Kind: trace.Start, What: what, Host: os.Getenv("FLEET_HOST"), Token: token,
		PID: os.Getpid(), Guard: os.Getppid(), Leaderrun: leaderrun(),
		Life: fmt.Sprintf("%s.%d.%d", os.Getenv(trace.FileVariable), os.Getpid(), time.Now().UnixNano()),
	}
	life, err := trace.Begin(e.Life)
	if err != nil {
		return e, nil, err
	}
	return e, life, trace.Add(e)
}

// leaderrun is its process id, by our holder's name: HOST/PID/RANDOM.
func leaderrun() int {
	parts := strings.Split(os.Getenv("LEADERRUN_HOLDER"), "/")
	if len(parts) != 3 {
		return 0
	}
	pid, _ := strconv.Atoi(parts[1]) // 0 is nobody's
	return pid
}

// finish writes down how we end.
func finish(e trace.Entry, life *trace.Life, kind string) error {
	e.Kind = kind
	return errors.Join(trace.Add(e), life.End())
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

// kill kills a process of our own run.
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

func service() (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1)
	e, life, err := begin("service")
	if err != nil {
		return 0, err
	}
	beside := exec.Command(os.Args[0], "child", e.Life+".child")
	beside.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := beside.Start(); err != nil {
		return 0, err
	}
	sig := <-signals
	if err := finish(e, life, trace.End); err != nil {
		return 0, err
	}
	if sig == syscall.SIGUSR1 {
		return failed, nil
	}
	return 0, nil
}

// child lives until it is killed.
func child(life string) (int, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if _, err := trace.Begin(life); err != nil {
		return 0, err
	}
	select {}
}

func hook() (int, error) {
	e, life, err := begin(os.Getenv("LEADERRUN_HOOK"))
	if err != nil {
		return 0, err
	}
	time.Sleep(30 * time.Millisecond)
	return 0, finish(e, life, trace.End)
}

func health(dir string) (int, error) {
	if _, err := os.Stat(filepath.Join(dir, "sick."+os.Getenv("LEADERRUN_TOKEN"))); err == nil {
		return failed, nil
	}
	return 0, nil
}
