package output

import (
	"io"
	"os"
)

// A wholeWriter writes lines, and never leaves a part of one where another one
// follows. Of a full disk or a pipe a write may take a part only: the rest is
// written before anything else is, and what comes meanwhile is dropped. Where
// that cannot be, as somebody else has written into the file after that part, or
// has left a part of his own there, the next line begins on a line of its own.
type wholeWriter struct {
	w    io.Writer
	name string // of the file, if w is one that was opened to append to
	rest []byte // of a line of which a part was written
	end  int64  // where that part ends in the file
}

// write writes lines, which it may keep, or drops them.
func (l *wholeWriter) write(lines []byte) {
	if !l.finish() {
		return
	}
	if l.follows() {
		lines = append([]byte("\n"), lines...)
	}
	if rest := l.put(lines); len(rest) < len(lines) {
		l.rest = rest
	}
}

// finish writes what is left of a line, and reports whether nothing is any more.
func (l *wholeWriter) finish() bool {
	if len(l.rest) > 0 && l.interrupted() {
		l.rest = nil
	}
	if len(l.rest) > 0 {
		l.rest = l.put(l.rest)
	}
	return len(l.rest) == 0
}

// put writes as much as it can, and returns the rest.
func (l *wholeWriter) put(p []byte) (rest []byte) {
	n, _ := l.w.Write(p) // there is nobody to tell why it is not more
	if f, ok := l.w.(*os.File); ok && n > 0 {
		l.end, _ = f.Seek(0, io.SeekCurrent)
	}
	return p[n:]
}

// interrupted reports whether a part of a line is not the last that is in the
// file any more.
func (l *wholeWriter) interrupted() bool {
	size, ok := l.size()
	return ok && size != l.end
}

// size is that of a regular file.
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

// follows reports whether the file ends with a part of a line, of somebody who
// is not going to complete it, as far as that can be seen.
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
