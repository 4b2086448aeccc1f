package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// Versions returns the programs of List and then leaderrun-monitor, except for those that
// are linked in, and starts each program to learn its version. It blocks until all have
// reported it, or ctx ends.
func (p *Programs) Versions(ctx context.Context, linked []string) []Program {
	monitor, err := p.FindMonitor()
	list := append(p.List(), Program{Scheme: MonitorName, Path: monitor, Err: bare(err)})
	list = slices.DeleteFunc(list, func(f Program) bool { return slices.Contains(linked, f.Scheme) })
	var asked sync.WaitGroup
	for i := range list {
		f := &list[i]
		if f.Err != nil {
			continue
		}
		asked.Go(func() {
			if f.Scheme == MonitorName {
				f.Version, f.Err = monitorVersion(ctx, f.Path)
			} else {
				f.Version, f.Err = helperVersion(ctx, f.Path, f.Scheme)
			}
		})
	}
	asked.Wait()
	return list
}

// helperVersion returns the version from a helper's hello, which comes unasked. It sends
// the helper nothing, because there is no lock.
func helperVersion(ctx context.Context, path, scheme string) (version string, err error) {
	err = firstOutput(ctx, path, prefix+scheme, environment(), nil, func(proc *process) error {
		s := newSession(scheme, locks.Error{}, proc.input.w)
		failed := s.read(proc.stdout)
		var noHello error
		if version, noHello = s.greeting(); noHello == nil {
			return nil
		}
		return failed
	})
	return version, err
}

// firstOutput starts a program without input and has its output read. If the output ends
// too soon (io.EOF), it returns how the program ended instead. The program is then gone.
func firstOutput(ctx context.Context, path, name string, env, args []string, read func(*process) error) error {
	proc, err := startProcess(path, name, env, nil, args...)
	if err != nil {
		return err
	}
	defer proc.discard()
	defer context.AfterFunc(ctx, proc.kill)()
	proc.input.close()
	f := newForwarder("", nil, plain)
	logged := f.start(proc.stderr)
	if err := read(proc); !errors.Is(err, io.EOF) {
		return err
	}
	<-proc.exited
	if ctx.Err() != nil {
		return fmt.Errorf("%s did not report its version in time", proc.name)
	}
	closedWithin(logged, drainTimeout)
	return proc.exitError(f.lastLines())
}
