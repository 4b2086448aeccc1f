package file

import (
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"os"
	"testing"
)

func ask(t *testing.T, l *Locker, token uint64, text string) {
	t.Helper()
	if err := l.Ask(t.Context(), token, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// TestAskLeavesNothing checks that a request for a token without a holder leaves no file.
func TestAskLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	g := hold(t, l)
	ask(t, l, g.Token+1, "x")
	release(t, l)
	ask(t, l, g.Token, "x")
	if _, err := os.Lstat(l.beside(askSuffix)); !os.IsNotExist(err) {
		t.Errorf("there is a request: %v", err)
	}
}

// TestAskOfOthers checks that old requests, those to other holders and untrusted ones are
// ignored.
func TestAskOfOthers(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	look := l.listen(7)
	path := l.beside(askSuffix)
	if err := os.WriteFile(path, []byte("7 a\nfirst"), 0o600); err != nil {
		t.Fatal(err)
	}
	look()
	if got := drive.Within(t, drive.Patience, l.Asked()); string(got) != "first" {
		t.Errorf("asked %q", got)
	}
	for _, spoil := range []func() error{
		func() error { return nil }, // it was delivered
		func() error { return os.WriteFile(path, []byte("8 b\nx"), 0o600) },
		func() error { return os.WriteFile(path, []byte("07 b\nx"), 0o600) },
		func() error { return os.WriteFile(path, []byte("7 b\n\xff"), 0o600) },
		func() error { return os.WriteFile(path, make([]byte, maxAsk+1), 0o600) },
		func() error { _ = os.WriteFile(path, []byte("7 b\nx"), 0o600); return os.Chmod(path, 0o622) },
		func() error {
			_ = os.Rename(path, path+"2")
			_ = os.Chmod(path+"2", 0o600)
			return os.Symlink(path+"2", path)
		},
		func() error { return os.Remove(path) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		look()
		select {
		case got := <-l.Asked():
			t.Errorf("asked %q", got)
		default:
		}
	}
}
