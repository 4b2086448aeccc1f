package cgroup

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Each process gets the signal once, wherever it is in the group.
func TestSignal(t *testing.T) {
	t.Parallel()
	for name, nest := range map[string]string{
		"nested":   `mkdir -p $G/a/b; N=$G/a/b`,
		"threaded": `mkdir $G/t; N=$G/t; echo threaded >$N/cgroup.type`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := start(t, nest+`
				COUNT='count() { trap "echo got >>$D/$1" USR1; trap "echo end >>$D/$1" USR2
					echo ready >$D/$1; while :; do sleep 0.01; done; }'
				setsid sh -c "$COUNT; count session" &
				sh -c "echo \$\$ >$N/cgroup.procs || exit; $COUNT; count nested" &
				exec sh -c "$COUNT; count first"`)
			everyone(t, j, "ready")
			if err := j.Signal(syscall.SIGUSR1); err != nil {
				t.Error(err)
			}
			everyone(t, j, "ready\ngot")
			if err := j.Signal(syscall.SIGUSR2); err != nil {
				t.Error(err)
			}
			everyone(t, j, "ready\ngot\nend")
		})
	}
}

// everyone waits until each process of TestSignal has written want.
func everyone(t *testing.T, j job, want string) {
	t.Helper()
	for _, name := range []string{"first", "session", "nested"} {
		until(t, name+" has written "+want, func() bool { return j.wrote(name) == want })
	}
}

// Processes that are forked while others are signalled get the signal as well. Here the last
// process of the list forks until it is signalled.
func TestSignalForked(t *testing.T) {
	t.Parallel()
	j := start(t, `
		i=0; while [ $i -lt 200 ]; do sleep 300 & i=$((i+1)); done
		sh -c 'i=0; while [ $i -lt 2000 ]; do sleep 300 & i=$((i+1)); [ $i != 5 ] || echo >$D/ready; done' &
		wait`)
	j.wrote("ready")
	if err := j.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	until(t, "none is left", func() bool { return !populated(t, j.Group) })
}

// A process that is not in the group is not signalled: an id may be used again.
func TestSignalNoStranger(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Process.Kill()
	s := signaller{group: filepath.Base(g.Path()), sig: syscall.SIGTERM, sent: make(map[int]bool)}
	if err := s.send(stranger.Process.Pid); err != nil {
		t.Error(err)
	}
	if err := stranger.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := stranger.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGUSR1 {
		t.Errorf("the stranger: %v", err)
	}
	if err := s.send(stranger.Process.Pid); err != nil {
		t.Errorf("it has ended: %v", err)
	}
}
