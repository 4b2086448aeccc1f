package monitor

import "testing"

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"x"}, {"x", "http"}, {"x", "probe"}, {"x", "probe", "http"}, {"x", "probe", "tcp://h:1", "more"},
		{"x", "metrics", "more"}, {"x", "--version", "more"}, {"x", "http", "http://127.0.0.1:1/", "more"}} {
		if got := Main(args); got != 64 {
			t.Errorf("%q: exit status %d, want 64", args, got)
		}
	}
}
