package helper

import (
	"net/url"
	"path/filepath"
	"testing"
)

// TestBegin: a helper that was begun is the one that the next Open of its
// scheme uses, once; one that is not used ends.
func TestBegin(t *testing.T) {
	t.Parallel()
	p := stageFor(t, "fake", "file")
	acquire := func(scheme string) int {
		u := &url.URL{Scheme: scheme, Path: filepath.ToSlash(filepath.Join(t.TempDir(), "it"))}
		l, err := p.Open(t.Context(), u, options())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { shut(t, l.(*Lock)) })
		_, err = l.Acquire(t.Context(), true)
		checkClass(t, "acquire", err, nil)
		return l.(*Lock).last().process.child.pid
	}
	begin := func() *process {
		p.Begin("fake")
		return p.begun.Load().process
	}
	first := begin()
	if pid := acquire("fake"); pid != first.child.pid {
		t.Errorf("the process %d was begun, but %d used", first.child.pid, pid)
	}
	if pid := acquire("fake"); pid == first.child.pid {
		t.Error("it was used twice")
	}
	unused := begin()
	p.End()
	if !isClosed(unused.exited) {
		t.Error("End left it")
	}
	other := begin()
	if pid := acquire("file"); pid == other.child.pid || !isClosed(other.exited) {
		t.Error("another scheme's helper was used, or left")
	}
	p.Begin("none")
	p.End()
	p.End()
}
