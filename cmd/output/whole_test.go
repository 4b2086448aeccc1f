package output

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A partial writer takes so many bytes in all, until it is given more room.
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

// TestPartOfALineIsCompleted writes to what is full in the midst of a line. What
// comes before there is room for the rest is dropped as a whole.
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
	if got, want := p.got.String(), "one\ntwo and three\nfour\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPartOfALineIsCompletedAtTheEnd has nothing else to write.
func TestPartOfALineIsCompletedAtTheEnd(t *testing.T) {
	t.Parallel()
	p := &partial{room: 2}
	s := NewSink(p)
	_, _ = s.Write([]byte("line\n"))
	s.Drain(sinkFlush)
	p.room = 100
	s.Close()
	if got := p.got.String(); got != "line\n" {
		t.Errorf("got %q", got)
	}
}

// A halved file takes no more than a part of what is written to it, as one on a
// full disk.
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

// TestSeveralAppendToOneFile has another one write after a part of our line: a
// line of his own. We do not complete ours then, and a line that nobody completes
// is not continued by another one.
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

// TestPartInAFileIsCompleted has nobody else write.
func TestPartInAFileIsCompleted(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	w := halved(t, name, "line\n")
	w.write([]byte("next\n"))
	if got, err := os.ReadFile(name); err != nil || string(got) != "line\nnext\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestTruncatedFile is rotated by truncating it after a part of a line.
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
