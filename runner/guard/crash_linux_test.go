package guard_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// deaf is a program that ignores all signals that it can. Its arguments are the directory and
// the cookie. It needs nothing else.
const deaf = `
trap '' TERM INT HUP QUIT USR1 USR2
echo $$ >$1/pid && echo ready >$1/ready
while :; do sleep 1; done
`

// A crash is a leaderrun in a separate process, with a guard and a job, for tests that kill
// or freeze some of them.
type crash struct {
	t         testing.TB
	dir       string
	cookie    string // each process of the job has it in an argument or its environment
	cmd       *exec.Cmd
	leaderrun int
	guard     process
	job       process   // the first process
	known     []process // processes of the job
	extras    []process // processes of leaderrun that are not of the job
}

// A process is known by its id and its start, because the tests here use thousands of ids, and
// ids are used again.
type process struct {
	pid     int
	started uint64
}

func processOf(pid int) process { return process{pid, proc.Started(pid)} }

// alive reports whether any thread of the process runs.
func (p process) alive() bool {
	state, _, _, ok := stat(p.pid)
	if threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid)); state == "Z" && len(threads) > 1 {
		state = "its first thread has ended"
	}
	return ok && state != "Z" && state != "X" && proc.Started(p.pid) == p.started
}

// reap kills the process, and waits for it if it has become our child.
func (p process) reap() {
	_, parent, _, _ := stat(p.pid)
	if p.pid == 0 || parent != os.Getpid() || proc.Started(p.pid) != p.started {
		return
	}
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	for _, err := syscall.Wait4(p.pid, nil, 0, nil); err == syscall.EINTR; {
		_, err = syscall.Wait4(p.pid, nil, 0, nil)
	}
}

var cookies atomic.Int64

// launch starts a shell script as a job. It has the cookie $C, the program $DEAF, this program
// as $SELF, and a directory $D, in which it makes the file ready.
func launch(t testing.TB, before, job string, options ...string) *crash {
	t.Helper()
	r := prepare(t, before, job, options...)
	r.start()
	return r
}

func prepare(t testing.TB, before, job string, options ...string) *crash {
	t.Helper()
	proc.AdoptOrphans() // we reap processes that leaderrun leaves behind
	r := &crash{t: t, dir: t.TempDir(), cookie: fmt.Sprintf("cookie-%d-%d.", os.Getpid(), cookies.Add(1))}
	for _, dir := range []string{r.dir, filepath.Dir(r.dir)} { // for other users
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lock", "released", "log", "stderr"} {
		r.make(name, "")
	}
	r.make("deaf", deaf)
	if err := errors.Join(syscall.Mkfifo(r.dir+"/control", 0o666), os.Chmod(r.dir+"/control", 0o666)); err != nil {
		t.Fatal(err)
	}
	options = append([]string{"-hold", r.dir + "/lock", "-release", r.dir + "/released", "-control", r.dir + "/control", "-log", r.dir + "/log"}, options...)
	r.cmd = supervised(t, before, append(options, "sh", "-c", job)...)
	r.cmd.Env = append(r.cmd.Env, "D="+r.dir, "C="+r.cookie, "DEAF=/bin/sh "+r.dir+"/deaf "+r.dir+" "+r.cookie)
	return r
}

func (r *crash) start() {
	r.t.Helper()
	stderr, err := os.OpenFile(r.dir+"/stderr", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer stderr.Close()
	r.cmd.Stderr = stderr
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.leaderrun = r.cmd.Process.Pid
	r.t.Cleanup(r.clean)
}

// within returns a deadline. On a machine that is busy now, it is a later one, because the
// steps of the test before it take longer.
func within(d time.Duration) string { return trial.Stretch(d).String() }

// running is like launch, but waits until the job is ready.
func running(t testing.TB, before, job string, options ...string) *crash {
	t.Helper()
	r := launch(t, before, job, options...)
	r.isRunning()
	return r
}

// isRunning waits until the job is ready.
func (r *crash) isRunning() {
	r.t.Helper()
	r.guard = processOf(r.number("guard"))
	r.job = processOf(r.number("started")) // it may have ended already
	until(r.t, "the job is ready", func() bool { return r.read("ready") != "" })
	r.known = []process{r.job}
	if pid, err := strconv.Atoi(strings.TrimSpace(r.read("pid"))); err == nil {
		r.known = append(r.known, processOf(pid))
	}
}

func (r *crash) make(name, text string) {
	r.t.Helper()
	path := write(r.t, filepath.Join(r.dir, name), text, 0o666)
	if err := os.Chmod(path, 0o666); err != nil {
		r.t.Fatal(err)
	}
}

func (r *crash) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(text)
}

// said waits for a line that begins with what in leaderrun's log. It returns the rest of the
// line.
func (r *crash) said(what string) (rest string) {
	r.t.Helper()
	until(r.t, "leaderrun logs "+what, func() (ok bool) {
		_, rest, _ = strings.Cut("\n"+r.read("log"), "\n"+what)
		rest, _, ok = strings.Cut(rest, "\n")
		return ok
	})
	return strings.TrimSpace(rest)
}

func (r *crash) number(what string) int { return int(r.instant(what)) }

// instant returns the moment that leaderrun says, which an int may be too small for.
func (r *crash) instant(what string) clock.Instant {
	r.t.Helper()
	n, err := strconv.ParseInt(r.said(what), 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return clock.Instant(n)
}

// tell orders leaderrun to do something. It does not wait until that is done.
func (r *crash) tell(what string) {
	r.t.Helper()
	f, err := os.OpenFile(r.dir+"/control", os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteString(what + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// signal sends a signal to one process. A signal to the id 0 would go to our own group, and so
// to the tests.
func (r *crash) signal(pid int, sig syscall.Signal) {
	r.t.Helper()
	if pid <= 1 {
		r.t.Fatalf("signal %v to %d: this is not the id of a process", sig, pid)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		r.t.Fatalf("signal %v to %d: %v", sig, pid, err)
	}
}

// kill kills leaderrun.
func (r *crash) kill() {
	r.t.Helper()
	r.signal(r.leaderrun, syscall.SIGKILL)
	_ = r.cmd.Wait()
}

// left returns the processes of the job that run: those that we know or, if these are dead,
// all others that have the cookie. A process that is being killed may have lost its memory,
// and with it the cookie, so it can only be found by its id.
func (r *crash) left() (all []process) {
	for _, p := range r.known {
		if p.alive() {
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		return all // looking at each process of the machine costs much more
	}
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		p := processOf(pid)
		args, _ := os.ReadFile(path + "/cmdline")
		env, _ := os.ReadFile(path + "/environ")
		if pid != r.leaderrun && bytes.Contains(append(args, env...), []byte(r.cookie)) && !slices.Contains(r.extras, p) && p.alive() {
			all = append(all, p)
		}
	}
	return all
}

// free reports whether somebody else could get the lock by its file, and by its record.
func (r *crash) free() (file, record bool) {
	r.t.Helper()
	f, err := os.Open(r.dir + "/lock")
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil, r.read("released") != ""
}

// becomesFree waits until both are free. It checks that nothing of the job runs when the
// first of them is free.
func (r *crash) becomesFree() {
	r.t.Helper()
	until(r.t, "the lock is free", func() bool {
		file, record := r.free()
		if left := r.left(); (file || record) && len(left) > 0 {
			trial.Final(r.t, "the lock is free (file %t, record %t), and of the job runs %v", file, record, left)
			r.t.FailNow()
		}
		return file && record
	})
	if got := r.read("released"); got != "release\n" {
		r.t.Errorf("%q was written to release", got)
	}
}

// nothingLeft checks that nothing is left, when leaderrun or the guard has reported that.
func (r *crash) nothingLeft() {
	r.t.Helper()
	if left := r.left(); len(left) > 0 {
		trial.Final(r.t, "of the job runs %v", left)
	}
	until(r.t, "the guard is gone", func() bool { return !r.guard.alive() })
}

// clean kills the processes that a failed test has left, and reaps our children.
func (r *crash) clean() {
	if r.t.Failed() {
		state, _, _, _ := stat(r.leaderrun)
		r.t.Logf("leaderrun (%s) says:\n%s%s", state, r.read("log"), r.read("stderr"))
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	var orphans []process
	for end := time.Now().Add(10 * time.Second); len(r.left()) > 0 && time.Now().Before(end); {
		left := r.left()
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		orphans = append(orphans, left...)
	}
	for _, p := range slices.Concat(orphans, r.extras, r.known, []process{r.guard}) {
		p.reap()
	}
}

// users returns the users as whom we can run.
func users() []string {
	if os.Getuid() != 0 {
		return []string{strconv.Itoa(os.Getuid())}
	}
	return []string{"0", "65534"}
}
