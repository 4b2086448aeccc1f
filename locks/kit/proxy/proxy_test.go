package proxy_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/kit/proxy"
)

// TestHint is the only test, because net/http reads the environment once.
func TestHint(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://u:secret@p:1")
	t.Setenv("HTTP_PROXY", "http://q:2")
	t.Setenv("NO_PROXY", "exempt.example")
	const https = "connections go through the proxy p:1 of HTTPS_PROXY; NO_PROXY exempts addresses"
	const http = "connections go through the proxy q:2 of HTTP_PROXY; NO_PROXY exempts addresses"
	for _, tt := range []struct{ got, want string }{
		{proxy.Hint("", "https://h"), https},
		{proxy.Hint("check it", "https://h"), "check it; " + https},
		{proxy.Hint("check it", "http://h:9/x"), "check it; " + http},
		{proxy.Hint("check it", "https://exempt.example:1"), "check it"},
		{proxy.Hint("check it", "http://127.0.0.1:1"), "check it"},
		{proxy.GRPC("", "http://h:1"), https},
		{proxy.GRPC("", "h:1"), https},
		{proxy.GRPC("", "localhost:1"), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q; want %q", tt.got, tt.want)
		}
	}
}
