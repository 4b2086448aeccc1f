package hosts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"":                  "127.0.0.1:9",
		"h":                 "h:9",
		"h:1, i:2,j":        "h:1,i:2,j:9",
		"[::1]:1,[::1],::1": "[::1]:1,[::1]:9,[::1]:9",
		"[fe80::1%eth0]:1":  "[fe80::1%eth0]:1",
	} {
		if got, err := hosts.Parse(list, "the URL", "9"); err != nil || strings.Join(got, ",") != want {
			t.Errorf("%q: got %q, %v; want %s", list, got, err, want)
		}
	}
	const port, host = " has no port between 1 and 65535", " has no valid host"
	for list, want := range map[string]string{
		"h:0": `"h:0"` + port, "h:65536": `"h:65536"` + port, "h:x": `"h:x"` + port,
		"[x:y]:1": `"[x:y]:1"` + host, "fe80:z::1%eth0": `"fe80:z::1%eth0"` + host, "1.2.3.4:5:6": `"1.2.3.4:5:6"` + host,
		":1": `":1"` + host, "h:1,,i": `""` + host, "a b": `"a b"` + host, "a/b": `"a/b"` + host, "a?b": `"a?b"` + host, "a#b": `"a#b"` + host,
		"u@h": `"u@h"` + host, "u:secret@h": `"u:xxxxx@h"`,
	} {
		got, err := hosts.Parse(list, "the URL", "9")
		if !errors.Is(err, locks.ErrUsage) || !strings.HasPrefix(err.Error(), "the URL: server "+want) {
			t.Errorf("%q: got %q, %v; want %s", list, got, err, want)
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"/run/s": true, "localhost:1": true, "127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:1": false, "[fe80::1]:1": false, "localhost.example.com:1": false, "0.0.0.0:1": false, "db": false,
	} {
		if got := hosts.Local(addr); got != want {
			t.Errorf("%s: got %v", addr, got)
		}
	}
}
