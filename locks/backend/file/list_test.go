package file

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// list returns all pages of a listing by a new handle, by name.
func list(t *testing.T, dir string) map[string]locks.Listed {
	t.Helper()
	all, _ := drive.List(t, open(t, dir))
	return all
}

// TestListByManyHandles checks that another handle can go on where one has ended a page.
func TestListByManyHandles(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	const n = 2*locks.MaxList + 1
	for i := range n - 1 {
		if err := touch(dir, fmt.Sprintf("b%03d.lock", i)); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	err := locks.Pages(func(cursor string) ([]locks.Listed, string, error) {
		return open(t, dir).List(t.Context(), cursor)
	}, func(page []locks.Listed) {
		for _, one := range page {
			names[one.Name] = true
		}
	})
	if err != nil || len(names) != n {
		t.Errorf("got %d locks, %v; want %d", len(names), err, n)
	}
}

// touch makes an empty file if it does not exist.
func touch(dir, name string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// TestListReadsTheNamesOnce checks that the names are read once for all pages, and again
// for the next listing.
func TestListReadsTheNamesOnce(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	for i := range 2 * locks.MaxList {
		if err := touch(dir, fmt.Sprintf("b%03d.lock", i)); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, dir)
	for range 2 {
		_, next, err := l.List(t.Context(), "")
		if err != nil || len(l.stems) != 2*locks.MaxList+1 {
			t.Fatalf("after the first page %d names are known, %v", len(l.stems), err)
		}
		if err := touch(dir, "z.lock"); err != nil {
			t.Fatal(err)
		}
		for next != "" {
			var page []locks.Listed
			if page, next, err = l.List(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(page, func(one locks.Listed) bool { return one.Name == "z" }) {
				t.Error("a file made after the first page is listed: the names were read again")
			}
		}
		if err := os.Remove(filepath.Join(dir, "z.lock")); err != nil {
			t.Fatal(err)
		}
		if l.stems != nil {
			t.Error("the names were kept after the last page")
		}
	}
}

// TestListLeavesOut checks that a listing leaves out what is not a lock, or cannot be
// used as one, and does not block. It includes what has only a record.
func TestListLeavesOut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortDir(t), "locks")
	pass(t, dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		touch(dir, "B.lock"), touch(dir, "b^.lock"), touch(dir, "b^00.lock"), touch(dir, "b^??.lock"), touch(dir, "b+.lock"), touch(dir, "..lock"), touch(dir, ".lock"),
		touch(dir, "b,.lock"), touch(dir, "b,65.lock"), touch(dir, "~XYZ"), touch(dir, "x\xff\x1b.lock"), touch(dir, "b.ask"), touch(dir, "b"), touch(dir, strings.Repeat("b", 201)+".lock"),
		os.Symlink(in("a.lock"), in("link.lock")), os.Mkdir(in("dir.lock"), 0o700), unix.Mkfifo(in("pipe.lock"), 0o600), listen(in("socket.lock")),
		touch(dir, "shared.lock"), os.Chmod(in("shared.lock"), 0o622),
		os.WriteFile(in("only.record"), []byte("x"), 0o600), os.WriteFile(in("a.record"), []byte("\xff"), 0o600), touch(dir, "bad.record"), os.Chmod(in("bad.record"), 0o622),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := list(t, dir)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"a", "only"}) {
		t.Errorf("got %q", names)
	}
	if text := string(got["only"].Record); text != "x" || got["a"].Record != nil {
		t.Errorf("records: %q, %q", text, got["a"].Record)
	}
}

// TestUntrustedDirectory checks that neither a list nor, where there is one, a watch trusts it.
func TestUntrustedDirectory(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	_, _, err := open(t, dir).List(t.Context(), "")
	refusal(t, err, locks.ErrDenied, dir)
	if l, ok := any(open(t, dir)).(locks.Watcher); ok {
		_, err = l.Watch(t.Context(), false)
		refusal(t, err, locks.ErrDenied, dir)
	}
}

// FuzzNameOf checks that the name of a lock comes back from that of its file, and that no
// other file is taken for a lock's.
func FuzzNameOf(f *testing.F) {
	for _, s := range []string{"a", "Jobs/x:y@z", "a#12", "jobs^g0", "a+b", "b,3", "^", "^^", "a^0200", strings.Repeat("Z/", 99) + "z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := nameOf(s); ok && (locks.CheckSlotName(name) != nil || fileStem(name) != s) {
			t.Errorf("%q is said to be of %q", s, name)
		}
		if locks.CheckSlotName(s) != nil {
			return
		}
		if name, ok := nameOf(fileStem(s)); !ok || name != s {
			t.Errorf("%q: got %q, %v", s, name, ok)
		}
	})
}
