package file

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// TestConformance does not evict holders: a waiter for a lock whose file is deleted waits
// until the holder is gone, which the suite does not expect. See TestLost, TestUnlinkRace
// and TestWaiterOutlastsDeletion.
func TestConformance(t *testing.T) { lockstest.Run(t, conformance()) }

// TestOneSlot does the same for a lock with one slot.
func TestOneSlot(t *testing.T) { lockstest.RunOneSlot(t, conformance()) }

func conformance() lockstest.Config {
	lockFile := func(u *url.URL, name string) string { return filepath.Join(u.Path, fileName(name)) }
	spoil := func(content string) func(testing.TB, *url.URL, string) {
		return func(t testing.TB, u *url.URL, name string) {
			if err := os.MkdirAll(u.Path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(lockFile(u, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	spoilText := func(suffix, content string) func(testing.TB, *url.URL, string) {
		return func(t testing.TB, u *url.URL, name string) {
			path := lockFile(u, name)
			if err := os.WriteFile(strings.TrimSuffix(path, ".lock")+suffix, []byte(content), 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
				t.Error(err)
			}
		}
	}
	entry := func(name, content string) func(testing.TB, *url.URL) {
		return func(t testing.TB, u *url.URL) {
			if err := os.WriteFile(filepath.Join(u.Path, name), []byte(content), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	blocks := func(texts ...string) string {
		var b strings.Builder
		for _, text := range texts {
			b.Write(sealBlock([]byte(text)))
		}
		return b.String()
	}
	return lockstest.Config{
		Open: Open,
		URL:  func(t testing.TB) *url.URL { return dirURL(testDir(t)) },
		// For the system, a death only means that the file is closed.
		Crash: func(_ testing.TB, _ *url.URL, _ string, l locks.Lock) { _ = l.Close() },
		Hostile: []func(testing.TB, *url.URL, string){
			spoil(""),
			spoil("{}\n"),
			spoil(strings.Repeat("\x1b[2J\x00\xff", 1<<20)),
			spoil(blocks("18446744073709551615", "-1", "9223372036854775807 9223372036854775807 held - {}")),
			spoil(blocks("1", "1", `1 2 held `+clock.BootID()+` {"holder":"`+"\x1b[2J"+strings.Repeat("x", 3000)+`","pid":1e99}`)),
			spoil(blocks("1", "1", `1 9 held `+clock.BootID()+` {"holder":"\u001b[2J\u202e","host":"\u0000","pid":-1,"since":"0000-01-01T00:00:00Z"}`)),
		},
		Foreign: []func(testing.TB, *url.URL, string) func() string{func(t testing.TB, u *url.URL, name string) func() string {
			spoil("2026-11-27 host=db1\n")(t, u, name)
			return func() string {
				text, err := os.ReadFile(lockFile(u, name))
				if err != nil {
					t.Error(err)
				}
				return string(text)
			}
		}},
		Abilities:    abilities(),
		ReportsStart: true,
		AskDelay:     askDelay,
		HostileEntries: []func(testing.TB, *url.URL){
			entry("a^??.lock", ""), entry("B.lock", ""), entry("x\xff\x1b[2J.lock", ""), entry("~x", ""), entry("a,65.lock", ""),
			entry("y.record", strings.Repeat("x", 10<<20)), entry("z.lock", strings.Repeat("x", 1<<20)),
			func(t testing.TB, u *url.URL) {
				if err := errors.Join(unix.Mkfifo(filepath.Join(u.Path, "pipe.lock"), 0o600), os.Symlink("/etc/passwd", filepath.Join(u.Path, "link.record")), os.Mkdir(filepath.Join(u.Path, "dir.lock"), 0o700)); err != nil {
					t.Error(err)
				}
			},
		},
		HostileRecords: []func(testing.TB, *url.URL, string){
			spoilText(recordSuffix, ""),
			spoilText(recordSuffix, "\x1b[2J\x00\xff"),
			spoilText(recordSuffix, strings.Repeat("x", 10<<20)),
			func(t testing.TB, u *url.URL, name string) {
				path := strings.TrimSuffix(lockFile(u, name), ".lock") + recordSuffix
				if err := errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)); err != nil {
					t.Error(err)
				}
			},
		},
		HostileAsks: []func(testing.TB, *url.URL, string){
			spoilText(askSuffix, ""),
			spoilText(askSuffix, "\n\n\n"),
			spoilText(askSuffix, "18446744073709551616 x\nx"),
			spoilText(askSuffix, "\x1b[2J\x00\xff"),
			spoilText(askSuffix, strings.Repeat("x", 10<<20)),
		},
		Kept: files,
		Leftovers: func(t testing.TB, u *url.URL) []string {
			var left []string
			for _, path := range files(t, u) {
				if !strings.HasSuffix(path, suffix) && !strings.HasSuffix(path, recordSuffix) && !strings.HasSuffix(path, askSuffix) {
					left = append(left, path)
				}
			}
			return left
		},
	}
}

// files returns the names of all files in a store.
func files(t testing.TB, u *url.URL) []string {
	all, err := filepath.Glob(filepath.Join(u.Path, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// abilities returns those that this system supports.
func abilities() []locks.Ability {
	if watches {
		return known.File.Abilities
	}
	return slices.DeleteFunc(slices.Clone(known.File.Abilities), func(a locks.Ability) bool { return a == locks.CanWatch })
}

func TestSlots(t *testing.T) {
	lockstest.RunSlots(t, lockstest.Config{
		Open:  Open,
		URL:   func(t testing.TB) *url.URL { return dirURL(testDir(t)) },
		Crash: func(_ testing.TB, _ *url.URL, _ string, l locks.Lock) { _ = l.Close() },
	})
}
