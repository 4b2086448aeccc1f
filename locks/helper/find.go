package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// Programs finds helper programs. A scheme's helper is the file leaderrun-SCHEME
// in the first of these directories that has one:
//
//   - the directory of leaderrun's own file, with symbolic links resolved
//   - $LEADERRUN_LIBEXEC
//   - Libexec
//   - the directories in $PATH
//
// Directories that are not absolute are left out. If others could have written the first
// helper that is found, Programs refuses it and does not look for another.
type Programs struct {
	// Libexec is the compiled-in directory. It may be empty.
	Libexec string
	// Known lists the schemes of the helpers that come with leaderrun.
	Known []string
	// Linked lists the schemes that need no helper, for messages.
	Linked []string

	begun atomic.Pointer[process] // by Begin
}

// A Program is a helper that is installed, or that is known but missing.
type Program struct {
	Scheme  string
	Path    string // symbolic links resolved; "" if Err says why it cannot be used
	Version string // see Versions
	Err     error
}

// prefix begins each helper's file name.
const prefix = "leaderrun-"

// Find returns the path of a scheme's helper. Its error says what to do.
func (p *Programs) Find(scheme string) (string, error) {
	return p.find(p.dirs(), scheme)
}

// List returns the helpers that are installed or could be, by scheme.
func (p *Programs) List() []Program {
	dirs := p.dirs()
	schemes := slices.Concat(p.Known, installed(dirs))
	slices.Sort(schemes)
	var list []Program
	for _, scheme := range slices.Compact(schemes) {
		path, err := p.find(dirs, scheme)
		list = append(list, Program{Scheme: scheme, Path: path, Err: bare(err)})
	}
	return list
}

// bare strips an error of what was tried, which a list shows anyway.
func bare(err error) error {
	var e *locks.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Open is a locks.Opener for each scheme that has a helper. It starts the helper and does
// not wait for it: Acquire reports the helper's errors.
func (p *Programs) Open(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	if ctx.Err() != nil {
		return nil, &locks.Error{Op: "open", Backend: address(u), Name: o.Name, Err: ctx.Err()}
	}
	path, err := p.Find(u.Scheme)
	var e *locks.Error
	if errors.As(err, &e) {
		e.Name = o.Name
	}
	if err != nil {
		return nil, err
	}
	l, err := p.open(path, u, o)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (p *Programs) find(dirs []string, scheme string) (string, error) {
	if !isScheme(scheme) {
		return "", p.unknown(dirs, scheme)
	}
	if path, err := lookUp(dirs, scheme); path != "" || err != nil {
		return path, err
	}
	if !slices.Contains(p.Known, scheme) {
		return "", p.unknown(dirs, scheme)
	}
	return "", &locks.Error{Op: "open", Backend: scheme, Class: locks.ErrUnavailable,
		Err:  fmt.Errorf("the helper program %s%s is not installed", prefix, scheme),
		Hint: fmt.Sprintf("install the package %s%s, or run: go install github.com/leaderrun/leaderrun/...@latest", prefix, scheme)}
}

// lookUp returns the path of leaderrun-NAME in the first directory that has it, or "" if
// none does.
func lookUp(dirs []string, name string) (string, error) {
	for _, dir := range dirs {
		path, err := trusted(filepath.Join(dir, prefix+name))
		if err == nil {
			return path, nil
		}
		if errors.As(err, new(trust.Distrust)) {
			return "", &locks.Error{Op: "open", Backend: name, Class: locks.ErrDenied, Err: err,
				Hint: "leaderrun starts a helper program only if nobody except you and root can change it"}
		}
	}
	return "", nil
}

// trusted returns the program that path names, with links resolved. It refuses one that
// anybody except root and us could have put there, because a helper gets passwords and
// the core acts on its word.
func trusted(path string) (string, error) {
	target, fi, err := trust.File(path)
	if err != nil {
		return "", err
	}
	if fi.Mode()&0o111 == 0 {
		return "", errNoProgram
	}
	return target, nil
}

// errNoProgram: the file may not be executed.
var errNoProgram = errors.New("not a program")

func (p *Programs) unknown(dirs []string, scheme string) error {
	have := slices.Concat(p.Linked, p.Known, installed(dirs))
	slices.Sort(have)
	return locks.Unknown("backend", scheme, slices.Compact(have))
}

// dirs returns the directories to search.
func (p *Programs) dirs() []string {
	var dirs []string
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			dirs = append(dirs, filepath.Dir(self))
		}
	}
	dirs = append(dirs, os.Getenv("LEADERRUN_LIBEXEC"), p.Libexec)
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// installed returns the schemes of all helpers in the given directories.
func installed(dirs []string) []string {
	var schemes []string
	for _, dir := range dirs {
		paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*")) // the pattern is valid
		for _, path := range paths {
			scheme := strings.TrimPrefix(filepath.Base(path), prefix)
			if _, err := trusted(path); isScheme(scheme) && (err == nil || errors.As(err, new(trust.Distrust))) {
				schemes = append(schemes, scheme)
			}
		}
	}
	return schemes
}

// isScheme reports whether s can be the scheme of a helper: a URL's scheme, and so part of
// a file name, but not the name of leaderrun-monitor.
func isScheme(s string) bool {
	return s != "" && s != MonitorName && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("+-.", r))
	})
}

// Begin starts the helper of a scheme early, because starting takes some milliseconds.
// The next Open of the scheme uses it. If the helper cannot be started, Open reports why.
func (p *Programs) Begin(scheme string) {
	path, err := p.Find(scheme)
	if err != nil {
		return
	}
	if early, err := startProcess(path, prefix+scheme, environment(), nil); err == nil {
		p.begun.Store(early)
	}
}

// End ends a helper that Begin started and no Open used, and waits until it is gone.
func (p *Programs) End() {
	if early := p.begun.Swap(nil); early != nil {
		early.discard()
	}
}

// start returns the helper that Begin started, or starts one.
func (p *Programs) start(path, scheme string) (*process, error) {
	if early := p.begun.Swap(nil); early != nil {
		if early.name == prefix+scheme && early.path == path {
			return early, nil
		}
		early.discard()
	}
	return startProcess(path, prefix+scheme, environment(), nil)
}

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

var _ locks.Opener = (*Programs)(nil).Open
