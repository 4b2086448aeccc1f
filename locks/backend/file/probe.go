package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/leaderrun/leaderrun/locks"
)

// Probe implements [locks.Prober]. The one server is the directory. Probe makes nothing,
// not even the directory.
func (l *Locker) Probe(ctx context.Context) (locks.Servers, error) {
	return interruptible(ctx, l, "look at the directory of", func() (locks.Servers, error) {
		p := probe{locks.Servers{Product: "file", User: user(), Servers: []locks.Server{{Address: l.place.dir}}}}
		p.look(l)
		return p.Servers, nil
	})
}

// A probe collects findings.
type probe struct{ locks.Servers }

// fail adds a finding if err is not nil, and reports whether it did.
func (p *probe) fail(check string, err error) bool {
	if err == nil {
		return false
	}
	hint, _ := classify(err)
	p.Find(check, locks.LevelError, what(err), cmp.Or(locks.Hint(err), hint))
	return true
}

// what returns the text of an error. For an error from fault, which is incomplete, it
// returns only what happened.
func what(err error) string {
	var e *locks.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}

func (p *probe) look(l *Locker) {
	dir, err := peekDir(l.place.dir)
	if errors.Is(err, fs.ErrNotExist) {
		p.absent(l)
		return
	}
	if err == nil {
		defer func() { _ = dir.Close() }() // only read
		err = trustDir(dir)
	}
	if p.fail("directory", err) {
		_, class := classify(err)
		server := &p.Servers.Servers[0]
		server.Error, server.Class = what(err), cmp.Or(locks.ServerClass(err), locks.ServerClass(class))
		return
	}
	p.Find("directory", locks.LevelOK, ownership(dir), "")
	p.fileSystem(l, dir)
}

// absent looks at the file system on which the directory would be made. Whether it can be made
// is not known before a run tries.
func (p *probe) absent(l *Locker) {
	parent := filepath.Dir(l.place.dir)
	above, err := os.Open(parent)
	for errors.Is(err, fs.ErrNotExist) && parent != filepath.Dir(parent) {
		parent = filepath.Dir(parent)
		above, err = os.Open(parent)
	}
	if err == nil {
		p.fileSystem(l, above)
		_ = above.Close() // only read
	}
}

// fileSystem reports whether other machines may see a directory, and when its content is lost.
func (p *probe) fileSystem(l *Locker, dir *os.File) {
	const check = "file system"
	fs, _ := l.fileSystem(dir) // an error is reported next
	p.Servers.Servers[0].Version = fs.name
	if p.fail(check, l.checkLocal(dir)) {
		return
	}
	switch lost := fs.lost(); {
	case lost != "":
		p.Find(check, locks.LevelWarning, fmt.Sprintf("%s: its content is lost %s, including the records of --once-per; tokens then start over from the clock", fs.name, lost),
			"if this matters, name a directory on a persistent disk with -b file:///dir")
	case fs.reach == unknown:
		p.Find(check, locks.LevelWarning, fs.name+": it is not known to be local to this machine, but fs=any allows it",
			"make sure that no other machine can see it, or name a directory on a local disk with -b file:///dir")
	default:
		p.Find(check, locks.LevelOK, fs.name, "")
	}
}

// user returns the name of the user who would own our files.
func user() string {
	if uid := os.Geteuid(); uid >= 0 {
		return fmt.Sprintf("uid %d", uid)
	}
	return ""
}

var _ locks.Prober = (*Locker)(nil)
