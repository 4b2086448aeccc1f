package fleet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
	"github.com/leaderrun/leaderrun/runner/window"
)

// ttl is the lease of a job.
const ttl = 5 * time.Second

// A cron plays cron on all hosts of a fleet.
type cron struct {
	day
	schedule window.Schedule
	keys     []int64 // of the windows
	slots    []time.Time
	clocks   []trace.Clock // of the hosts
	store    *store
	dir      string
	cookie   string
	canary   *canary

	wg sync.WaitGroup

	mu       sync.Mutex
	rand     *rand.Rand
	started  int
	pending  []int // firings of a window that have not ended
	tries    []int // additional firings planned for the window
	closed   map[int64]bool
	outcomes []outcome
}

// maxTries is the number of additional firings after which a window is left without a
// success.
const maxTries = 20

// An outcome is the result of a firing.
type outcome struct {
	firing
	number  int
	status  int  // as a shell shows it
	killed  bool // we killed leaderrun
	begun   clock.Instant
	ended   clock.Instant
	entries []trace.Entry
	events  string // a file
	stderr  string
	excused bool // it failed, and the machine was too busy
}

// runDay runs a day on the hosts of one store, and returns the result.
func runDay(t *testing.T, d day, s *store) *cron {
	t.Helper()
	build(t)
	n := seed(t)
	c := &cron{
		day: d, store: s, dir: t.TempDir(), cookie: fmt.Sprint("day-", s.name, "-", os.Getpid(), "-", n),
		rand: rand.New(rand.NewPCG(n, 1)), closed: map[int64]bool{},
		pending: make([]int, d.windows), tries: make([]int, d.windows),
	}
	var err error
	if c.schedule, err = window.Parse(d.spec, d.zone); err != nil {
		t.Fatal(err)
	}
	c.slots = d.slots(c.schedule)
	for _, at := range c.slots[:d.windows] {
		c.keys = append(c.keys, c.schedule.Window(at).Key)
	}
	now := trace.Clock{Wall: c.slots[0].Add(-2 * time.Minute), At: clock.Boot{}.Now(), Factor: d.factor()}
	for range hosts {
		c.clocks = append(c.clocks, now.Set(upTo(c.rand, 3*time.Minute)-90*time.Second))
	}
	c.canary = newCanary(t)
	c.play()
	gone(t, c.cookie)
	return c
}

// play starts the planned firings in time, and returns when all have ended, including the
// additional ones.
func (c *cron) play() {
	all := c.plan(c.rand, c.slots, c.store.rude)
	when := func(f firing) clock.Instant { return c.clocks[f.host].When(f.at) }
	slices.SortFunc(all, func(a, b firing) int { return cmp.Compare(when(a), when(b)) })
	for _, f := range all {
		c.pending[f.slot]++
	}
	for _, f := range all {
		<-time.After(when(f).Sub(clock.Boot{}.Now()))
		c.wg.Go(func() { c.fire(f, c.clocks[f.host]) })
	}
	c.wg.Wait()
}

// fire starts leaderrun, and continues when it has ended: if nothing else will run the
// window's job, it plans another firing.
func (c *cron) fire(f firing, now trace.Clock) {
	c.done(c.run(f, now))
}

func (c *cron) done(o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes = append(c.outcomes, o)
	if key, ok := o.key(c.schedule); ok && o.status == 0 {
		c.closed[key] = true
	}
	c.pending[o.slot]--
	if c.pending[o.slot] > 0 || c.closed[c.keys[o.slot]] || c.tries[o.slot] == maxTries {
		return
	}
	c.pending[o.slot]++
	c.tries[o.slot]++
	f := c.again(c.rand, o.firing, c.tries[o.slot])
	pause := upTo(c.rand, c.fast/4)
	c.wg.Go(func() {
		<-time.After(pause)
		c.fire(f, c.clockFor(f))
	})
}

// clockFor returns the clock of a firing's host or, if the window is over by that clock,
// one that is slow enough.
func (c *cron) clockFor(f firing) trace.Clock {
	now, at := c.clocks[f.host], clock.Boot{}.Now()
	if shown := now.Read(at); c.schedule.Window(shown).Key != c.keys[f.slot] {
		now = now.Set(c.slots[f.slot].Add(c.every / 2).Sub(shown))
	}
	return now
}

// key returns the window that leaderrun assigned its firing to, according to the clock
// that it read.
func (o *outcome) key(s window.Schedule) (int64, bool) {
	for _, e := range o.entries {
		if e.Kind == trace.Read {
			return s.Window(time.Unix(0, e.Wall)).Key, true
		}
	}
	return 0, false
}

func (c *cron) run(f firing, now trace.Clock) outcome {
	c.mu.Lock()
	c.started++
	o := outcome{firing: f, number: c.started}
	c.mu.Unlock()
	file := filepath.Join(c.dir, fmt.Sprint(o.number))
	o.events = file + ".events"
	args := []string{"-l", "day", "--once-per", c.spec, "--ttl", ttl.String(), "--events", o.events}
	if f.wait != "" {
		args = append(args, f.wait)
	}
	args = append(append(args, "--", program("subject")), f.job...)

	var stderr bytes.Buffer
	cmd := exec.Command(program("leaderrun"), args...)
	cmd.Env = append(environment(c.dir, c.cookie), c.store.env...)
	cmd.Env = append(cmd.Env, "TZ="+c.zone, trace.FileVariable+"="+file, trace.ClockVariable+"="+now.String())
	cmd.Stderr = &stderr
	o.begun = clock.Boot{}.Now()
	err := cmd.Start()
	if err == nil {
		o.killed = killAfter(cmd, f.kill)
	}
	o.ended = clock.Boot{}.Now()
	o.stderr = stderr.String()
	if err != nil {
		o.stderr = err.Error()
	}
	o.status = programs.Status(cmd.ProcessState)
	if o.entries, err = trace.ReadAll(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		o.stderr += err.Error()
	}
	return o
}

// killAfter waits for a process, and kills it after d if d is positive. It reports
// whether it did.
func killAfter(cmd *exec.Cmd, d time.Duration) (killed bool) {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state is in ProcessState
		close(ended)
	}()
	if d > 0 {
		select {
		case <-ended:
			return false
		case <-time.After(d):
			killed = cmd.Process.Kill() == nil
		}
	}
	<-ended
	return killed
}
