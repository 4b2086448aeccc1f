package helper

import (
	"net/url"
	"path/filepath"
	"testing"
)

// TestBegin checks that the next Open of the scheme uses the helper that Begin started,
// once, and that a helper that is not used ends.
func TestBegin(t *testing.T) {
	t.Parallel()
	p := stageFor(t, "fake", "file")
	acquire := func(scheme string) int {
		u := &url.URL{Scheme: scheme, Path: filepath.Join(t.TempDir(), "it")}
		l, err := p.Open(t.Context(), u, options())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { shut(t, l.(*Lock)) })
		_, err = l.Acquire(t.Context(), true)
		checkClass(t, "acquire", err, nil)
		return l.(*Lock).last().process.pid
	}
	begin := func() *process {
		p.Begin("fake")
		return p.begun.Load()
	}
	first := begin()
	if pid := acquire("fake"); pid != first.pid {
		t.Errorf("Begin started process %d, but Open used %d", first.pid, pid)
	}
	if pid := acquire("fake"); pid == first.pid {
		t.Error("the helper was used twice")
	}
	unused := begin()
	p.End()
	if !isClosed(unused.exited) {
		t.Error("End left the helper running")
	}
	other := begin()
	if pid := acquire("file"); pid == other.pid || !isClosed(other.exited) {
		t.Error("another scheme's helper was used, or left running")
	}
	p.Begin("none")
	p.End()
	p.End()
}
