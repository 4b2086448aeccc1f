package guard

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A crowd is a host whose job has so many processes that signalling them all takes until
// the channel is closed.
type crowd struct {
	storm
	signalled chan syscall.Signal // receives a signal when sending it begins
	all       chan struct{}       // closed: SIGKILL has reached them all
}

func (*crowd) notify(chan<- os.Signal)                               {}
func (*crowd) nothingLeft(g *guard) bool                             { return g.childless }
func (*crowd) spawn(proc.Command, *syscall.SysProcAttr) (int, error) { return stormy, nil }
func (c *crowd) container(Tier) (container, string, error)           { return c, "", nil }

func (c *crowd) wait(ws *syscall.WaitStatus) (int, error) {
	if !proc.IsClosed(c.all) {
		return 0, nil
	}
	return c.storm.wait(ws)
}

func (c *crowd) signalAll(g *guard, sigs ...syscall.Signal) {
	c.signalled <- sigs[0]
	for !proc.IsClosed(c.all) && (!g.attend() || sigs[0] == syscall.SIGKILL) {
		time.Sleep(time.Millisecond)
	}
	c.killed.Store(proc.IsClosed(c.all))
}

// While it signals many processes, a guard acknowledges orders to kill and new deadlines.
// An order to kill ends the sending of other signals.
func TestAttend(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	_ = ours.file.SetReadDeadline(time.Now().Add(30 * time.Second))
	c := &crowd{signalled: make(chan syscall.Signal, 9), all: make(chan struct{})}
	go func() {
		newGuard(theirs, c).run()
		_ = theirs.file.Close()
	}()
	order := func(f frame, answer byte) {
		t.Helper()
		if err := ours.send(f); err != nil {
			t.Fatal(err)
		}
		if answer == 0 {
			return
		}
		if got, err := ours.receive(); got.kind != answer || err != nil {
			t.Fatalf("%q is answered with %q, %v; want %q", f.kind, got.kind, err, answer)
		}
	}
	later := clock.Boot{}.Now().Add(time.Hour)
	order(startOrder{killBy: later}.frame(), kindStarted)
	order(number(kindStop, int64(syscall.SIGTERM)), 0)
	if sig := <-c.signalled; sig != syscall.SIGTERM {
		t.Fatalf("got %v", sig)
	}
	order(number(kindSignal, int64(syscall.SIGHUP)), 0)
	order(number(kindDeadline, int64(later.Add(time.Hour))), kindDeadline)
	for range 3 {
		order(frame{kind: kindKill}, kindKilling)
	}
	if sig := <-c.signalled; sig != syscall.SIGKILL {
		t.Fatalf("got %v", sig)
	}
	close(c.all)
	for kind := byte(0); kind != kindExited; {
		f, err := ours.receive()
		if err != nil {
			t.Fatal(err)
		}
		kind = f.kind
	}
}

// A guard whose leaderrun dies while it signals many processes kills them.
func TestAttendOrphaned(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	c := &crowd{signalled: make(chan syscall.Signal, 9), all: make(chan struct{})}
	ended := make(chan struct{})
	go func() { defer close(ended); newGuard(theirs, c).run() }()
	for _, f := range []frame{startOrder{killBy: clock.Boot{}.Now().Add(time.Hour)}.frame(), number(kindStop, int64(syscall.SIGTERM))} {
		if err := ours.send(f); err != nil {
			t.Fatal(err)
		}
	}
	<-c.signalled
	ours.close()
	if sig := <-c.signalled; sig != syscall.SIGKILL {
		t.Errorf("got %v", sig)
	}
	close(c.all)
	<-ended
}
