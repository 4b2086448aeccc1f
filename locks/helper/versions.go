package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// Versions returns the same as List and the tools, except for those that are linked in,
// and starts each program to learn its version. It blocks until all have reported it, or
// ctx ends.
func (p *Programs) Versions(ctx context.Context, linked []string) []Program {
	all := Programs{Libexec: p.Libexec, Known: slices.Concat(p.Known, tools), Linked: p.Linked}
	list := slices.DeleteFunc(all.List(), func(f Program) bool { return slices.Contains(linked, f.Scheme) })
	var asked sync.WaitGroup
	for i := range list {
		f := &list[i]
		if f.Err != nil {
			continue
		}
		asked.Go(func() {
			if slices.Contains(tools, f.Scheme) {
				f.Version, f.Err = toolVersion(ctx, f.Path, f.Scheme)
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

// toolVersion returns the second word of what a tool prints as its version.
func toolVersion(ctx context.Context, path, name string) (version string, err error) {
	err = firstOutput(ctx, path, path, toolEnvironment(), []string{"--version"}, func(proc *process) error {
		lines := newLines(proc.stdout)
		if !lines.Scan() {
			return io.EOF
		}
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != prefix+name {
			return fmt.Errorf("%s%s does not report its version", prefix, name)
		}
		version = plain(cut(words[1], maxVersion))
		return nil
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
