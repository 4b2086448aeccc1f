package guard

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A storm is a host that always has one more process to reap, until the job is killed.
type storm struct {
	clock.Boot
	started chan struct{}
	killed  atomic.Bool
	gone    bool
}

const stormy = 4242 // the id of the first process

func (s *storm) notify(c chan<- os.Signal) {
	go func() {
		for !s.killed.Load() {
			select {
			case c <- syscall.SIGCHLD:
			default:
			}
		}
	}()
}
func (s *storm) container(Tier) (container, string, error) { return s, "", nil }
func (s *storm) spawn(proc.Command, *syscall.SysProcAttr) (int, error) {
	close(s.started)
	return stormy, nil
}

func (s *storm) wait(ws *syscall.WaitStatus) (int, error) {
	switch {
	case !s.killed.Load():
		*ws = 0x137f // stopped
		return stormy, nil
	case s.gone:
		return 0, syscall.ECHILD
	}
	s.gone, *ws = true, syscall.WaitStatus(syscall.SIGKILL)
	return stormy, nil
}

func (s *storm) tier() Tier                          { return Pgroup }
func (s *storm) prepare(*syscall.SysProcAttr)        {}
func (s *storm) remove()                             {}
func (s *storm) leftByCheck(*guard, int)             {}
func (s *storm) nothingLeft(g *guard) bool           { return g.childless }
func (s *storm) signalGroup(*guard, syscall.Signal)  {}
func (s *storm) signalAll(*guard, ...syscall.Signal) { s.killed.Store(true) }

// A job with always one more process to reap is killed at its deadline, although leaderrun
// does not read the guard's frames. When leaderrun reads again, it receives the exit of the
// job.
func TestStorm(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	s := &storm{started: make(chan struct{})}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		newGuard(theirs, s).run()
		_ = theirs.file.Close()
	}()
	const lasts = time.Second
	if err := ours.send(startOrder{killBy: clock.Boot{}.Now().Add(lasts)}.frame()); err != nil {
		t.Fatal(err)
	}
	<-s.started
	begun := time.Now()
	for !s.killed.Load() && time.Since(begun) < 10*lasts {
		time.Sleep(time.Millisecond)
	}
	if took := time.Since(begun); took < lasts/2 || took > 5*lasts {
		t.Errorf("it is killed after %v, want %v", took, lasts)
	}
	s.killed.Store(true)
	for {
		f, err := ours.receive()
		if err != nil {
			t.Fatalf("before it is said how the job has ended: %v", err)
		}
		if f.kind == kindExited {
			break
		}
	}
	select {
	case <-kept:
	case <-time.After(10 * time.Second):
		t.Error("the guard does not end")
	}
	if _, err := ours.receive(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the end: %v", err)
	}
}
