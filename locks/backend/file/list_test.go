package file

import (
	"errors"
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

// TestList lists a held lock, one whose holder died, a released one, and a slot.
func TestList(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	if got := list(t, dir); len(got) > 0 {
		t.Errorf("without a directory: %v", got)
	}
	handles := map[string]*Locker{}
	for _, name := range []string{"jobs/Nightly:a", "dead", "old", "jobs#12"} {
		handles[name] = openWith(t, dir, locks.Options{Name: name, Holder: "holder of " + name})
		hold(t, handles[name])
	}
	setRecord(t, handles["old"], "it ran")
	_ = handles["dead"].Close()
	release(t, handles["old"])
	got := list(t, dir)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, slices.Sorted(maps.Keys(handles))) {
		t.Errorf("got %q", names)
	}
	for name, one := range got {
		held := name == "jobs/Nightly:a" || name == "jobs#12"
		if st := one.Status; st.Held != held || held && (st.Holder != "holder of "+name || st.Token == 0) {
			t.Errorf("%s: got %+v", name, st)
		}
	}
	if text := string(got["old"].Record); text != "it ran" || got["dead"].Record != nil {
		t.Errorf("records: %q, %q", text, got["dead"].Record)
	}
}

// TestListPages checks that each of many locks is on exactly one page, whether or not the
// same handle asks for each page.
func TestListPages(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	hold(t, openWith(t, dir, locks.Options{Name: "job-070"}))
	for i := range 200 {
		name := fmt.Sprintf("job-%03d", i)
		if err := errors.Join(touch(dir, fileName(name)), touch(dir, fileStem(name)+recordSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, dir); len(got) != 200 || !got["job-070"].Status.Held {
		t.Errorf("got %d locks, and job-070 is %+v", len(got), got["job-070"])
	}
	var names []string
	for cursor := ""; ; {
		page, next, err := open(t, dir).List(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			names = append(names, one.Name)
		}
		if cursor = next; next == "" {
			break
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != 200 {
		t.Errorf("another handle for each page: got %d locks", len(names))
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

// TestListRefuses checks that an untrusted directory is refused.
func TestListRefuses(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	_, _, err := open(t, dir).List(t.Context(), "")
	refusal(t, err, locks.ErrDenied, dir)
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
