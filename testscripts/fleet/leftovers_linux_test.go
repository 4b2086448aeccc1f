package fleet

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// leftovers are the command lines of processes that have a cookie in their
// environment.
func leftovers(t *testing.T, cookie string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		t.Fatalf("/proc cannot be read: %v", err)
	}
	var all []string
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !carries(env, cookie) {
			continue // it has ended, or is another user's
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
	}
	return all
}

// carries reports whether an environment has a cookie.
func carries(env []byte, cookie string) bool {
	return bytes.Contains(env, []byte(trace.CookieVariable+"="+cookie+"\x00"))
}

// gone checks that soon nothing of a fleet is left.
func gone(t *testing.T, cookie string) {
	t.Helper()
	var left []string
	if !within(10*time.Second, func() bool { left = leftovers(t, cookie); return len(left) == 0 }) {
		t.Errorf("left behind: %q", left)
	}
}

// within polls until ok, for a while.
func within(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
