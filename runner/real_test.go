package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

func TestMain(m *testing.M) {
	if guard.IsRole(os.Args) {
		os.Exit(guard.Main(os.Args))
	}
	goleak.VerifyTestMain(m)
}

// real is a Run outside of any bubble, with real processes, the real clock and a real socket.
// Only the lock is a model.
//
// These tests are not parallel. On a busy machine, one of them may kill a job without its guard,
// and then all children of this process would belong to its job.
func real(t *testing.T, script string) *rig {
	t.Helper()
	r := newRig(t)
	r.c.Serve, r.c.Clock = nil, nil
	r.host.starter = func() (proc.Starter, error) { return guard.Begin(nil), nil }
	r.c.Command = proc.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: append(os.Environ(), "DIR="+t.TempDir())}
	return r
}

// await waits until a job has written a file. It returns the contents.
func (r *rig) await(name string) string {
	r.t.Helper()
	path := filepath.Join(r.dir(), name)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(b), "\n") {
			return strings.TrimSpace(string(b))
		}
	}
	r.t.Fatalf("the job has not written %s", name)
	return ""
}

func (r *rig) dir() string {
	return strings.TrimPrefix(r.c.Command.Env[len(r.c.Command.Env)-1], "DIR=")
}

// dirOf returns the directory of the first socket in LEADERRUN_SOCKET.
func dirOf(sockets string) string { return filepath.Dir(strings.Split(sockets, ",")[1]) }

// A job has the promised environment and socket, and nothing is left behind.
func TestReal(t *testing.T) {
	r := real(t, `trap 'exit 5' TERM
		echo "$LEADERRUN_SOCKET" >"$DIR/socket"; echo "$LEADERRUN_TOKEN $LEADERRUN_LOCK_NAME $LEADERRUN_HOLDER" >"$DIR/env"
		sleep 60 & wait`)
	type result struct {
		exit proc.Exit
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		exit, err := r.run()
		ended <- result{exit, err}
	}()
	sockets := r.await("socket")
	if got := r.await("env"); got != "7 nightly host/1/a" {
		t.Errorf("environment: %s", got)
	}
	a, err := socket.Ask(sockets, 10*time.Second)
	now := clock.Boot{}.Now()
	if err != nil || a.Token != token || a.Store != "5706e" || !a.Ours(now) || !a.Ours(now.Add(10*time.Second)) || a.Ours(now.Add(ttl)) {
		t.Errorf("the socket answers %+v, %v", a, err)
	}
	r.signals <- syscall.SIGTERM
	res := <-ended
	r.ended(res.exit, res.err, proc.Exit{Code: 5})
	if _, err := os.Stat(dirOf(sockets)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's directory: %v, want it gone", err)
	}
}

// A real job and all that it has started are signalled, killed and gone before the end of the
// lease.
func TestRealPartition(t *testing.T) {
	t.Parallel() // with simulated tests, and after the other real ones, which are quick
	r := real(t, `trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & while :; do sleep 1; done`)
	r.renew = silentAfter(0)
	exit, err := r.run()
	r.failed(exit, err, locks.ErrLost)
	r.within(r.when("release"), seconds(12.985), seconds(14.985)) // from D_kill to E
}

// If the command cannot be executed, the lock is released.
func TestRealStartFails(t *testing.T) {
	r := real(t, "")
	r.c.Command.Path = filepath.Join(t.TempDir(), "missing")
	_, err := r.run()
	var start *proc.StartError
	if !errors.As(err, &start) || !start.NotFound {
		t.Errorf("got %v, want a StartError", err)
	}
	if !r.server.free() {
		t.Error("the lock is still held")
	}
}

// A lingering lock does something before it is released.
type lingering struct {
	*handle
	before func()
}

func (l *lingering) Release(ctx context.Context) error {
	l.before()
	return l.handle.Release(ctx)
}

// The socket is removed while the lock is being released: nobody waits for that.
func TestRealSocketBesideRelease(t *testing.T) {
	r := real(t, `echo "$LEADERRUN_SOCKET" >"$DIR/socket"`)
	removed := func() {
		dir := dirOf(r.await("socket"))
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
				return
			}
		}
		t.Error("the socket stays until the lock is released")
	}
	open := r.host.open
	r.host.open = func(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
		lock, err := open(ctx, waiting)
		return &lingering{lock.(*handle), removed}, err
	}
	exit, err := r.run()
	r.ended(exit, err, proc.Exit{})
}
