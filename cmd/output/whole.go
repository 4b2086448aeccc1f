package output

import (
	"io"
	"os"
	"time"
)

// A wholeWriter writes whole lines: a part of a line is never followed by another line. A
// full disk or a pipe may take only a part of a write. Then the rest is written before
// anything else, and lines that come before that are dropped. If another process has
// written into the file after that part, or has left a part of its own, the next line
// begins with a newline.
type wholeWriter struct {
	w    io.Writer
	name string // of the file, if w is a file opened to append to
	rest []byte // the rest of a line of which a part was written
	end  int64  // where that part ends in the file
	err  error  // of the last write
	lost error  // why lines were dropped; nil: none were

	looked time.Time // when we last looked whether the file was replaced
}

// lookEvery is how often, at most, we look whether a file was replaced.
const lookEvery = time.Second

// write writes lines or drops them. It may keep the slice.
func (l *wholeWriter) write(lines []byte) {
	if !l.finish() {
		l.lost = l.err
		return
	}
	l.reopen()
	if l.follows() {
		lines = append([]byte("\n"), lines...)
	}
	switch rest := l.put(lines); {
	case len(rest) < len(lines):
		l.rest = rest
	case len(rest) > 0:
		l.lost = l.err
	}
}

// reopen opens the file anew if its name no longer leads to it: logrotate renames a file, and
// nobody reads on in the old one, which is later compressed and deleted. If there can be no
// new one, we keep the old.
func (l *wholeWriter) reopen() {
	_, regular := l.size()
	if l.name == "" || !regular || time.Since(l.looked) < lookEvery {
		return
	}
	l.looked = time.Now()
	old := l.w.(*os.File)
	ours, err := old.Stat()
	if named, e := os.Stat(l.name); err != nil || e == nil && os.SameFile(ours, named) {
		return
	}
	if f, err := openToAppend(l.name); err == nil {
		l.w = f
		_ = old.Close() // each write has reported its errors
	}
}

// finish writes the rest of a line, and reports whether it is complete.
func (l *wholeWriter) finish() bool {
	if len(l.rest) > 0 && l.interrupted() {
		l.rest, l.lost = nil, l.err
	}
	if len(l.rest) > 0 {
		l.rest = l.put(l.rest)
	}
	return len(l.rest) == 0
}

// put writes as much as it can, and returns the rest.
func (l *wholeWriter) put(p []byte) (rest []byte) {
	n, err := l.w.Write(p)
	l.err = err
	if f, ok := l.w.(*os.File); ok && n > 0 {
		l.end, _ = f.Seek(0, io.SeekCurrent)
	}
	return p[n:]
}

// interrupted reports whether the file no longer ends with our part of a line.
func (l *wholeWriter) interrupted() bool {
	size, ok := l.size()
	return ok && size != l.end
}

// size returns the size of the file, if it is a regular one.
func (l *wholeWriter) size() (int64, bool) {
	f, ok := l.w.(*os.File)
	if !ok {
		return 0, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// follows reports whether the file ends with a part of a line, which another process has
// written and probably will not complete.
func (l *wholeWriter) follows() bool {
	size, ok := l.size()
	if l.name == "" || !ok || size == 0 {
		return false
	}
	f, err := os.Open(l.name)
	if err != nil {
		return false
	}
	defer f.Close()
	var last [1]byte
	_, err = f.ReadAt(last[:], size-1)
	return err == nil && last[0] != '\n'
}
