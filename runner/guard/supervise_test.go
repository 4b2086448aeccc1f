//go:build unix

package guard_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// supervised is a command that runs a job in a process of its own, which may
// have options of the type supervisor before it. It gets the shell's message
// before it, such as a ulimit.
func supervised(t *testing.T, before string, job ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/bin/sh", append([]string{"-c", before + ` exec "$0" "$@"`, self}, job...)...)
	c.Env = append(os.Environ(), roleVariable+"=supervise", noDelay)
	return c
}

// A supervisor is a small leaderrun: it runs a job and exits like it.
type supervisor struct {
	uid           int
	deadline      time.Duration // after the start; 0: none
	hold, release string        // the files of OnDeath
	helper        bool
	noInput       bool
	asks          time.Duration // the pause before the guard is asked whether it is there; 0: as ever
	freeze        bool          // the guard, before the start
	tier          string        // how the job is kept together; "": as it can be
	control, log  string        // files that it is told things by, and tells them

	mu     sync.Mutex
	job    proc.Job
	out    *os.File       // log, once it was needed
	checks sync.WaitGroup // the health check
}

// supervise is the role.
func supervise() int {
	var s supervisor
	flags := flag.NewFlagSet("supervise", flag.ContinueOnError)
	flags.IntVar(&s.uid, "uid", os.Getuid(), "")
	flags.DurationVar(&s.deadline, "deadline", 0, "")
	flags.StringVar(&s.hold, "hold", "", "")
	flags.StringVar(&s.release, "release", "", "")
	flags.BoolVar(&s.helper, "helper", false, "")
	flags.BoolVar(&s.noInput, "no-input", false, "")
	flags.DurationVar(&s.asks, "asks", 0, "")
	flags.BoolVar(&s.freeze, "freeze", false, "")
	flags.StringVar(&s.tier, "tier", "", "")
	flags.StringVar(&s.control, "control", "", "")
	flags.StringVar(&s.log, "log", "", "")
	if flags.Parse(os.Args[1:]) != nil {
		return 125
	}
	if err := s.become(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	os.Unsetenv(roleVariable)
	os.Setenv("SELF", fmt.Sprintf("/proc/%d/exe", os.Getpid()))
	return s.run(flags.Args())
}

// become becomes another user, in a program that is this user's from its start.
func (s *supervisor) become() error {
	if s.uid == os.Getuid() {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(s.uid); err != nil {
		return err
	}
	if err := syscall.Setuid(s.uid); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

func (s *supervisor) run(args []string) int {
	path, err := proc.Find(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	g := guard.Begin()
	defer g.Close()
	if err := g.Contain(guard.Containment{Use: guard.Tier(s.tier)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	if s.control != "" {
		go s.listen(g)
	}
	if s.asks != 0 {
		g.SetPingPause(s.asks)
	}
	killBy := clock.Never
	if s.deadline != 0 {
		killBy = clock.Boot{}.Now().Add(s.deadline)
	}
	s.say("deadline %d", killBy)
	s.say("guard %d", g.PID())
	if s.freeze {
		_ = syscall.Kill(g.PID(), syscall.SIGSTOP)
	}
	command := proc.Command{Path: path, Args: args, Env: os.Environ(), OnDeath: s.onDeath(), NoInput: s.noInput}
	job, err := g.Start(command, killBy)
	if err != nil {
		return s.refused(err)
	}
	s.mu.Lock()
	s.job = job
	s.mu.Unlock()
	s.say("asked")
	return s.watch(job)
}

func (s *supervisor) refused(err error) int {
	s.say("refused %v", err)
	fmt.Fprintln(os.Stderr, err)
	return 126
}

// watch tells what happens until nothing of the job is left.
func (s *supervisor) watch(job proc.Job) int {
	started, exited, look := job.Started(), job.Exited(), time.NewTicker(time.Millisecond)
	defer look.Stop()
	for exited != nil || !job.Gone() {
		if started != nil { // it comes before all else
			exited = nil
		}
		select {
		case err := <-started:
			if err != nil {
				return s.refused(err)
			}
			s.say("started %d", job.PID())
			started, exited = nil, job.Exited()
		case err := <-job.Failed():
			s.say("failed %v", err)
		case <-exited:
			exited = nil
			s.say("exited %d", job.Exit().Status())
			if s.log == "" { // a test of nothing but the exit
				return job.Exit().Status()
			}
		case <-look.C:
		}
	}
	s.checks.Wait()
	s.say("gone")
	return job.Exit().Status()
}

// onDeath makes the lock's files what a backend makes them.
func (s *supervisor) onDeath() (w proc.OnDeath) {
	var err error
	if s.hold != "" {
		if w.Hold, err = os.OpenFile(s.hold, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			err = syscall.Flock(int(w.Hold.Fd()), syscall.LOCK_EX)
		}
	}
	if s.release != "" && err == nil {
		w.Message = []byte("release\n")
		w.Release, err = os.OpenFile(s.release, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	}
	if s.helper && err == nil {
		c := exec.Command("sleep", "1000")
		err = c.Start()
		w.NotOfJob = func(pid int) bool { return pid == c.Process.Pid }
		s.say("helper %d", c.Process.Pid)
	}
	if err != nil {
		panic(err)
	}
	return w
}

// listen does what it is told, line by line.
func (s *supervisor) listen(g *guard.Client) {
	f, err := os.OpenFile(s.control, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		s.mu.Lock()
		job := s.job
		s.mu.Unlock()
		what, arg, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "kill":
			_ = job.Kill()
		case "check":
			s.checks.Go(func() { s.check(job, arg, os.Environ()) })
		case "check-long": // more than the socket takes at once
			env := os.Environ()
			for n := range 10 {
				env = append(env, fmt.Sprintf("LONG%d=%s", n, strings.Repeat("x", 100_000)))
			}
			s.checks.Go(func() { s.check(job, arg, env) })
		case "stop":
			_ = job.Stop(syscall.SIGTERM)
		case "patience":
			d, _ := time.ParseDuration(arg)
			g.SetPatience(d)
		case "flood": // more than the socket takes
			for range 100_000 {
				_ = job.Signal(syscall.SIGCONT)
			}
		case "extend":
			d, _ := time.ParseDuration(arg)
			job.Extend(clock.Boot{}.Now().Add(d))
		}
		s.say("did %s", lines.Text())
	}
}

// check runs a text of the shell as a health check.
func (s *supervisor) check(job proc.Job, text string, env []string) {
	a, err := job.CheckHealth(proc.Command{Path: "/bin/sh", Args: []string{"sh", "-c", text}, Env: env})
	if err != nil {
		s.say("check refused %v", err)
		return
	}
	s.say("check started")
	<-a.Done()
	s.say("check ended %d", a.Exit().Status())
}

// say adds a line to the log.
func (s *supervisor) say(format string, args ...any) {
	if s.log == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil { // it stays open: there may be no descriptor left
		f, err := os.OpenFile(s.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			panic(err)
		}
		s.out = f
	}
	fmt.Fprintf(s.out, format+"\n", args...)
}
