package run

import (
	"errors"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// TestListenAddress binds to this machine unless a host is named.
func TestListenAddress(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]string{
		"": "", "9100": "127.0.0.1:9100", ":9100": "127.0.0.1:9100", "0": "127.0.0.1:0",
		"0.0.0.0:9100": "0.0.0.0:9100", "[::]:9100": "[::]:9100", "[::1]:1": "[::1]:1", "web-1.example:65535": "web-1.example:65535",
	} {
		if got, err := listenAddress(v); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", v, got, err, want)
		}
	}
	for _, v := range []string{":", "host", "host:", ":http", ":65536", ":-1", ":+1", ":09100", "::1:9100", "[::1:9100", "[host]:9100", "http://h:9100", "a b:1", "u@h:1", "[]:1"} {
		if got, err := listenAddress(v); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("%q: got %q, %v; want a usage error", v, got, err)
		}
	}
}
