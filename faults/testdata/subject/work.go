package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/faults/register"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// The manners in which a job works.
const (
	obedient  = "obedient"  // ends at TERM
	deaf      = "deaf"      // ignores all signals
	failing   = "failing"   // ends with a failure
	leaving   = "leaving"   // leaves a process behind, in its own session, which ignores all signals
	forking   = "forking"   // the same, and the process replaces itself again and again
	stopping  = "stopping"  // stops itself on the way
	suspended = "suspended" // stops at TERM, instead of ending
	draining  = "draining"  // ends a while after TERM
	beheaded  = "headless"  // its first thread has ended
	detaching = "detaching" // leaves a process behind as leaving does, whose first thread has ended
	hiding    = "hiding"    // leaves a process behind that is another user's
	crowding  = "crowding"  // leaves hundreds of processes behind, each in its own session
	flapping  = "flapping"  // is stopped and continued by a child all the time
	pooling   = "pooling"   // is at a limit of tasks, and has a child that wants more of them
)

// left are what they leave behind.
var left = map[string]func() (int, error){
	"outlive":  outlive,
	"headless": func() (int, error) { return headless(outlive) },
	"relay":    relay,
	"hide":     hide,
	"crowd":    crowd,
	"flap":     flap,
	"pool":     pool,
}

// drain is the longest time for which a draining job goes on: for several leases.
const drain = 20 * time.Second

// How often a job writes to the register, and asks for the end of its lease.
const (
	writes = 100 * time.Millisecond
	asks   = 40 * time.Millisecond
)

func work(manner, long string) (int, error) {
	threads.Reserve(threads.OfCore) // or Go would abort at a limit of tasks
	if manner == pooling {
		if err := limit(); err != nil {
			return 0, err
		}
	}
	limit, err := time.ParseDuration(long)
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	e, life, err := begin("job")
	if err != nil {
		return 0, err
	}
	go follow(e, life)
	if err := leave(manner); err != nil {
		return 0, err
	}
	pen := newPen(e)
	if err := pen.write(); err != nil {
		return 0, err
	}
	pen.start()
	wait(manner, limit, signals, e)
	ask(e, life) // if we were frozen, what we know of our lease is old
	if err := errors.Join(pen.stop(), pen.write(), finish(e, life, trace.End)); err != nil {
		return 0, err
	}
	if manner == failing {
		return failed, nil
	}
	return 0, nil
}

// limit puts leaderrun, its guard and its helper under a limit of tasks from our first
// moment: they must already have what they need later.
func limit() error {
	var spare, now int
	var dir string
	if n, _ := fmt.Sscan(os.Getenv(trace.TasksVariable), &spare, &dir); n != 2 {
		return nil // there is no limit on this machine
	}
	text, err := os.ReadFile(filepath.Join(dir, "pids.current"))
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(string(text), &now); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "pids.max"), fmt.Append(nil, now+spare), 0)
}

// leave starts what is left behind, unless there are too many tasks.
func leave(manner string) error {
	what, own := "", true
	switch manner {
	case leaving:
		what = "outlive"
	case detaching:
		what = "headless"
	case forking:
		what = "relay"
	case hiding:
		what = "hide"
	case crowding:
		what = "crowd"
	case flapping:
		what, own = "flap", false
	case pooling:
		what, own = "pool", false
	default:
		return nil
	}
	if err := spawn(what, own); !errors.Is(err, syscall.EAGAIN) {
		return err
	}
	return nil
}

// wait returns when the work is done.
func wait(manner string, limit time.Duration, signals <-chan os.Signal, e trace.Entry) {
	over := time.After(limit)
	half := make(<-chan time.Time)
	if manner == stopping {
		half = time.After(limit / 2)
	}
	for {
		select {
		case <-over:
			if !busy() {
				return
			}
			over = time.After(asks)
		case <-half:
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		case <-signals:
			switch manner {
			case deaf:
			case draining:
				long := drain/2 + rand.N(drain/2)
				e.Kind, e.Expiry = trace.Draining, trace.Now().Add(long)
				_ = trace.Add(e) // without it, the drain is not judged
				over, signals = time.After(long), nil
			case suspended:
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			default:
				return
			}
		}
	}
}

// busy reports whether to work longer than DURATION.
func busy() bool {
	_, err := os.Stat(os.Getenv(trace.BusyVariable))
	return err == nil
}

// A pen writes to the fenced register.
type pen struct {
	of   trace.Entry
	quit chan struct{}
	done sync.WaitGroup
	err  error
}

func newPen(e trace.Entry) *pen { return &pen{of: e, quit: make(chan struct{})} }

func (p *pen) start() {
	p.done.Go(func() {
		tick := time.NewTicker(writes)
		defer tick.Stop()
		for p.err == nil {
			select {
			case <-tick.C:
				p.err = p.write()
			case <-p.quit:
				return
			}
		}
	})
}

func (p *pen) stop() error {
	close(p.quit)
	p.done.Wait()
	return p.err
}

// write writes once, and records the outcome.
func (p *pen) write() error {
	if trace.PeerOf() != 0 {
		return nil // there is no token to fence with
	}
	e := p.of
	e.Kind, e.Call = trace.Write, trace.Now()
	highest, accepted, err := register.Write(fmt.Sprint(os.Getenv(trace.RegisterVariable), e.Slot), e.Token)
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	e.Highest, e.Refused = highest, !accepted
	return trace.Add(e)
}

// follow records the end of our lease, as leaderrun reports it. If leaderrun does not
// answer, there is nothing to record.
func follow(e trace.Entry, life *trace.Life) {
	for ; ; time.Sleep(asks) {
		ask(e, life)
	}
}

func ask(e trace.Entry, life *trace.Life) {
	sockets := os.Getenv("LEADERRUN_SOCKET")
	if sockets == "" {
		return // we are run by a peer of leaderrun
	}
	asked := trace.Now()
	a, err := socket.Ask(sockets, time.Second)
	if err != nil || a.Outside {
		return
	}
	until := trace.OfMachine(a.Deadline)
	if a.Deadline != 0 && asked > until { // whatever was renewed meanwhile: we lived after the end of the lease
		e.Kind, e.Call, e.Expiry = trace.Outside, asked, until
		_ = trace.Add(e) // the oracle sees our life as well
	}
	if !a.Lost {
		life.Promised(asked, until)
	}
}

// spawn starts this program again, perhaps in its own session.
func spawn(what string, session bool) error {
	c := exec.Command(os.Args[0], what)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	return c.Start()
}

func outlive() (int, error) {
	threads.Reserve(threads.OfCore)
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if _, _, err := begin("child"); err != nil {
		return 0, err
	}
	select {}
}

// relay lives until there is another one.
func relay() (int, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	_, life, err := begin("child")
	if err != nil {
		return 0, err
	}
	time.Sleep(20 * time.Millisecond)
	return 0, errors.Join(spawn("relay", true), life.End())
}
