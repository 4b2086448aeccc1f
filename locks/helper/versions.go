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

// Versions returns what List does and the tools, but for those that are linked in, and
// starts each program to hear which version it is of. It blocks until all have said
// that, or ctx ends.
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

// helperVersion is what a helper says in its hello, which comes unasked. Nothing is
// said to it: it is for no lock.
func helperVersion(ctx context.Context, path, scheme string) (version string, err error) {
	err = hear(ctx, path, prefix+scheme, environment(), nil, func(proc *process) error {
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

// toolVersion is the second word of what a tool says when it is asked.
func toolVersion(ctx context.Context, path, name string) (version string, err error) {
	err = hear(ctx, path, path, toolEnvironment(), []string{"--version"}, func(proc *process) error {
		lines := newLines(proc.stdout)
		if !lines.Scan() {
			return io.EOF
		}
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != prefix+name {
			return fmt.Errorf("%s%s does not tell its version", prefix, name)
		}
		version = plain(cut(words[1], maxVersion))
		return nil
	})
	return version, err
}

// hear starts a program without input and has its output read. If that ends too soon,
// io.EOF, it returns how the program ended instead. The program is gone then.
func hear(ctx context.Context, path, name string, env, args []string, read func(*process) error) error {
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
		return fmt.Errorf("%s did not say its version in time", proc.name)
	}
	closedWithin(logged, drainTimeout)
	return proc.exitError(f.lastLines())
}
