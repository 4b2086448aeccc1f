package oracle

import (
	"bytes"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// carries reports whether an environment, as the kernel shows it, has a cookie.
func carries(env []byte, cookie string) bool {
	return bytes.Contains(env, []byte(trace.CookieVariable+"="+cookie+"\x00"))
}

// on reports whether an environment is that of a host's programs.
func on(env []byte, cookie, host string) bool {
	return carries(env, cookie) && bytes.Contains(env, []byte(trace.HostVariable+"="+host+"\x00"))
}

// Gone waits until no process with the cookie in its environment is left, and returns the
// command lines of those that are left when its patience ends.
func Gone(cookie string, patience time.Duration) ([]string, error) {
	for end := time.Now().Add(patience); ; <-time.After(100 * time.Millisecond) { // a look costs one file of each process
		left, err := Leftovers(cookie)
		if err != nil || len(left) == 0 || time.Now().After(end) {
			return left, err
		}
	}
}
