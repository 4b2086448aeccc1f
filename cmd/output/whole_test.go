package output

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A partial writer accepts bytes while it has room.
type partial struct {
	room int
	got  bytes.Buffer
}

func (p *partial) Write(b []byte) (int, error) {
	n := min(p.room, len(b))
	p.room -= n
	p.got.Write(b[:n])
	if n < len(b) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// TestPartOfALineIsCompleted: the writer is full in the middle of a line. Until there is room
// for the rest, other lines are dropped as a whole.
func TestPartOfALineIsCompleted(t *testing.T) {
	t.Parallel()
	p := &partial{room: 8}
	w := wholeWriter{w: p}
	w.write([]byte("one\n"))
	w.write([]byte("two and three\n"))
	w.write([]byte("dropped\n"))
	p.room = 3
	w.write([]byte("dropped, too\n"))
	p.room = 100
	w.write([]byte("four\n"))
	if got, want := p.got.String(), "one\ntwo and three\nfour\n"; got != want || w.lost == nil {
		t.Errorf("got %q, want %q; lost: %v", got, want, w.lost)
	}
}

// TestPartOfALineIsCompletedAtTheEnd: Close writes the rest, if nothing else is written.
func TestPartOfALineIsCompletedAtTheEnd(t *testing.T) {
	t.Parallel()
	p := &partial{room: 2}
	s := NewSink(p)
	_, _ = s.Write([]byte("line\n"))
	s.Drain(sinkFlush)
	p.room = 100
	s.Close()
	if got := p.got.String(); got != "line\n" || s.Lost() != nil {
		t.Errorf("got %q, lost: %v", got, s.Lost())
	}
}

// halved returns a writer that has written half of a line, as on a full disk.
func halved(t *testing.T, name, line string) *wholeWriter {
	t.Helper()
	f, err := openToAppend(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	w := &wholeWriter{w: f, name: name}
	w.rest = w.put([]byte(line)[:len(line)/2])
	w.rest = []byte(line)[len(line)/2:]
	return w
}

// TestSeveralAppendToOneFile: another process writes a line after a part of ours. Then we do
// not complete ours, and neither process continues the other's incomplete line.
func TestSeveralAppendToOneFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	ours := halved(t, name, "ours\n")
	f, err := openToAppend(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	theirs := &wholeWriter{w: f, name: name}
	theirs.write([]byte("theirs\n"))
	ours.write([]byte("again\n"))
	theirs.write([]byte("and again\n"))
	got, err := os.ReadFile(name)
	if want := "ou\ntheirs\nagain\nand again\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestPartInAFileIsCompleted: if no other process writes, we complete our line.
func TestPartInAFileIsCompleted(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	w := halved(t, name, "line\n")
	w.write([]byte("next\n"))
	if got, err := os.ReadFile(name); err != nil || string(got) != "line\nnext\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestTruncatedFile truncates the file, as some log rotation does, after a part of a line.
func TestTruncatedFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	w := halved(t, name, strings.Repeat("x", 100)+"\n")
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	w.write([]byte("next\n"))
	if got, err := os.ReadFile(name); err != nil || string(got) != "next\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestRotatedFile: logrotate renames a file, or copies and truncates it. What is written later
// is in the file of that name.
func TestRotatedFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	s, err := appendTo(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(line string) {
		t.Helper()
		_, _ = s.Write([]byte(line))
		s.Drain(sinkFlush)
	}
	content := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", filepath.Base(name), got, err, want)
		}
	}
	write("before\n")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write("within the second\n")
	time.Sleep(lookEvery)
	write("after\n")
	content(name+".1", "before\nwithin the second\n")
	content(name, "after\n")
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	write("truncated\n")
	content(name, "truncated\n")
	s.Close()
	if err := s.Lost(); err != nil {
		t.Error(err)
	}
}
