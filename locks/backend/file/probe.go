package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// The thresholds for reporting the space left on a file system: an error when a few more
// locks may fill it (each takes 12 KiB), and a warning before that.
const (
	fewBytes, lowBytes   = 4 << 20, 64 << 20
	fewInodes, lowInodes = 16, 1000
)

// A volume is the space left on a file system.
type volume struct {
	counted bool   // the fields below are known
	bytes   uint64 // free for us
	inodes  uint64 // free, or unlimited
}

// unlimited means that there are as many inodes as there is space for.
const unlimited = math.MaxUint64

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
	if h := locks.Hint(err); h != "" {
		hint = h
	}
	p.Find(check, "error", what(err), hint)
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
	server := &p.Servers.Servers[0]
	if err == nil {
		defer func() { _ = dir.Close() }() // only read
		err = trustDir(dir)
	}
	if p.fail("directory", err) {
		_, class := classify(err)
		server.Error, server.Class = what(err), cmp.Or(locks.ServerClass(err), locks.ServerClass(class))
		return
	}
	if !p.fail("directory", mayWrite(dir)) {
		p.Find("directory", "ok", ownership(dir), "")
	}
	if p.volume(l, dir) { // otherwise locking may take long
		server.RTT, err = roundTrip(l.place)
		p.fail("lock", err)
	}
	p.Findings = append(p.Findings, inotifyFindings()...)
}

// absent checks whether the directory can be made.
func (p *probe) absent(l *Locker) {
	parent := filepath.Dir(l.place.dir)
	above, err := os.Open(parent)
	for errors.Is(err, fs.ErrNotExist) && l.place.parents && parent != filepath.Dir(parent) {
		parent = filepath.Dir(parent)
		above, err = os.Open(parent)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = noParent(parent)
	}
	if err == nil {
		defer func() { _ = above.Close() }() // only read
		err = mayWrite(above)
	}
	if p.fail("directory", err) {
		return
	}
	p.Find("directory", "ok", "it does not exist yet; the first run makes it", "")
	p.volume(l, above)
}

// volume checks the file system of a directory, and reports whether locks can be kept
// there.
func (p *probe) volume(l *Locker, dir *os.File) bool {
	const check = "file system"
	v, err := volumeOf(dir)
	if p.fail(check, err) {
		return false
	}
	fs, _ := l.fileSystem(dir) // an error is reported next
	p.Servers.Servers[0].Version = fs.name
	if p.fail(check, l.checkLocal(dir)) {
		return false
	}
	switch lost := fs.lost(); {
	case lost != "":
		p.Find(check, "warning", fmt.Sprintf("%s: its content is lost %s, including the records of --once-per; tokens then start over from the clock", fs.name, lost),
			"if this matters, name a directory on a persistent disk with -b file:///dir")
	case fs.reach == unknown:
		p.Find(check, "warning", fs.name+": it is not known to be local to this machine, but fs=any allows it",
			"make sure that no other machine can see it, or name a directory on a local disk with -b file:///dir")
	default:
		p.Find(check, "ok", fs.name, "")
	}
	p.room(v)
	return true
}

func (p *probe) room(v volume) {
	if !v.counted {
		return
	}
	level, fix := "ok", "free some space there, or "+elsewhere
	switch {
	case v.bytes < fewBytes || v.inodes < fewInodes:
		level = "error"
	case v.bytes < lowBytes || v.inodes < lowInodes:
		level = "warning"
	default:
		fix = ""
	}
	text := fmt.Sprintf("%d MiB", v.bytes>>20)
	if v.inodes != unlimited {
		text += fmt.Sprintf(" and %d files", v.inodes)
	}
	p.Find("room", level, text+" are left", fix)
}

// roundTrip returns how long it takes to open, lock and close the directory, the second
// time. Nothing else locks the directory.
func roundTrip(p place) (took time.Duration, err error) {
	for range 2 {
		start := time.Now()
		f, err := findDir(p)
		if err != nil {
			return 0, err
		}
		err = lockDir(f)
		_ = f.Close() // only read
		if err != nil {
			return 0, err
		}
		took = time.Since(start)
	}
	return took, nil
}

// user returns the name of the user who would own our files.
func user() string {
	if uid := os.Geteuid(); uid >= 0 {
		return fmt.Sprintf("uid %d", uid)
	}
	return ""
}

var _ locks.Prober = (*Locker)(nil)
