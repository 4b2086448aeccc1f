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

// supervised returns a command that runs a job in a separate process. Options of supervise may
// come before the job. The shell runs the text before first, such as a ulimit.
func supervised(t testing.TB, before string, job ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/bin/sh", append([]string{"-c", before + ` exec "$0" "$@"`, self}, job...)...)
	c.Env = append(os.Environ(), roleVariable+"=supervise", noDelay)
	return c
}

// A supervisor is a small leaderrun: it runs a job, and exits like the job.
type supervisor struct {
	uid           int
	deadline      time.Duration // after the start; 0: never
	hold, release string        // the files of OnDeath
	helper        bool
	noInput       bool
	asks          time.Duration // the pause between pings; 0: the default
	freeze        bool          // freeze the guard before the start
	waits         bool          // entrust the guard, and start the job only when told to
	tier          string        // of the containment; "": the default
	control, log  string        // files with its commands and with its log

	told   chan struct{} // closed when the job is to be started
	mu     sync.Mutex
	job    proc.Job
	out    *os.File       // the log, once it is open
	checks sync.WaitGroup // for the health check
}

// tick is the unit in which /proc says when a process was started.
const tick = 10 * time.Millisecond

// supervise plays the role of a small leaderrun.
func supervise() int {
	s := supervisor{told: make(chan struct{})}
	flags := flag.NewFlagSet("supervise", flag.ContinueOnError)
	flags.IntVar(&s.uid, "uid", os.Getuid(), "")
	flags.DurationVar(&s.deadline, "deadline", 0, "")
	flags.StringVar(&s.hold, "hold", "", "")
	flags.StringVar(&s.release, "release", "", "")
	flags.BoolVar(&s.helper, "helper", false, "")
	flags.BoolVar(&s.noInput, "no-input", false, "")
	flags.DurationVar(&s.asks, "asks", 0, "")
	flags.BoolVar(&s.freeze, "freeze", false, "")
	flags.BoolVar(&s.waits, "waits", false, "")
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

// become starts this program again as another user.
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
	before := proc.Children()
	if s.helper { // and a process that we adopt before a later guard
		c := exec.Command("sleep", "1000")
		if c.Start() == nil {
			s.say("adopted %d", c.Process.Pid)
			time.Sleep(2 * tick)
		}
	}
	g := guard.Begin(before)
	defer g.Close()
	if err := g.Contain(guard.Tier(s.tier)); err != nil {
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
	if s.waits {
		s.say("entrusted %v", g.Entrust(command.OnDeath))
		<-s.told
	}
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

// watch logs what happens until nothing of the job is left.
func (s *supervisor) watch(job proc.Job) int {
	started, exited, look := job.Started(), job.Exited(), time.NewTicker(time.Millisecond)
	defer look.Stop()
	for exited != nil || !proc.IsClosed(job.Gone()) {
		if started != nil { // the start comes before all else
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
			if s.log == "" { // the test only checks the exit
				return job.Exit().Status()
			}
		case <-look.C:
		}
	}
	s.checks.Wait()
	s.say("gone, overdue %v", job.Overdue())
	return job.Exit().Status()
}

// onDeath opens the lock's files as a backend does.
func (s *supervisor) onDeath() (w proc.OnDeath) {
	var err error
	if s.hold != "" {
		if w.Hold, err = os.OpenFile(s.hold, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			err = syscall.Flock(int(w.Hold.Fd()), syscall.LOCK_EX)
		}
	}
	if s.release != "" && err == nil {
		w.Message, w.Remove = []byte("release\n"), []string{s.release + ".remove"}
		w.Release, err = os.OpenFile(s.release, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	}
	if s.helper && err == nil {
		c := exec.Command("sleep", "1000")
		if err = c.Start(); err == nil {
			w.NotOfJob = func(pid int) bool { return pid == c.Process.Pid }
			s.say("helper %d", c.Process.Pid)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare what the guard inherits:", err)
		os.Exit(125)
	}
	return w
}

// listen carries out the commands in the control file, line by line.
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
		case "start":
			close(s.told)
		case "close":
			g.Close()
		case "kill":
			_ = job.Kill()
		case "check":
			s.checks.Go(func() { s.check(job, arg, os.Environ()) })
		case "check-long": // more than the socket's buffer
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
		case "flood": // more than the socket's buffer
			for range 100_000 {
				_ = job.Signal(syscall.SIGCONT)
			}
		case "extend":
			d, _ := time.ParseDuration(arg)
			job.Extend(clock.Boot{}.Now().Add(d))
		case "limit":
			d, _ := time.ParseDuration(arg)
			s.say("limit %d", clock.Boot{}.Now().Add(d))
			job.Limit(clock.Boot{}.Now().Add(d))
		}
		s.say("did %s", lines.Text())
	}
}

// check runs a shell script as a health check.
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
	if s.out == nil { // it stays open, because later no descriptor may be left
		f, err := os.OpenFile(s.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			panic(err)
		}
		s.out = f
	}
	fmt.Fprintf(s.out, format+"\n", args...)
}
