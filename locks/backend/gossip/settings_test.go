package gossip

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	foreign := ""
	if os.Geteuid() == 0 {
		foreign = "belongs to user 65534"
	}
	const key = "MDEyMzQ1Njc4OWFiY2RlZg==\n"
	theirs := write("theirs", key, 0o600)
	if err := os.Chown(theirs, 65534, -1); err != nil && foreign != "" {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"gossip://h:0?min=1":             "has no port",
		"gossip://u@h?min=1":             "has no user",
		"gossip://h/a//b?min=1":          `part ""`,
		"gossip:///?min=1":               "no member is named",
		"gossip://h":                     "min= is missing",
		"gossip://h?min=0":               "is not a number of members",
		"gossip://h?min=1&rank=size":     "is neither age nor priority",
		"gossip://h?min=1&longest=1s":    `unknown gossip parameter "longest"`,
		"gossip://h?min=1&insecure=true": "put it into a file on each host, and name that with key-file=FILE",
		"gossip://h?min=1&bind=a:1,b:1":  "more than one address",
		"gossip://h?min=1&bind=:0":       "has no port between",
		"gossip://h?min=1&key-file=" + write("short", "c2hvcnQ=\n", 0o600): "16, 24 or 32 bytes",
		"gossip://h?min=1&key-file=" + write("none", "#\n", 0o600):         "no key",
		"gossip://h?min=1&key-file=" + write("read", key, 0o644):           "can be read by anyone",
		"gossip://h?min=1&key-file=" + write("written", key, 0o602):        "can be written by anyone",
		"gossip://h?min=1&key-file=" + write("good", key, 0o640):           "",
		"gossip://h?min=1&key-file=" + theirs:                              foreign,
		"gossip://h?min=1&rank=priority&bind=h:0":                          "",
		"gossip://h1,h2,h3?expect=3&key-file=/k":                           "for a lock by votes of the hosts write quorum://h1,h2,h3?key-file=/k",
		"gossip://h1:7946,h2:9/s?expect=2&longest=1m&insecure=true":        "write quorum://h1,h2:9/s?key-file=FILE",
		"gossip://h1,h2?expect=5&min=3":                                    "write quorum://h1,h2?key-file=FILE, with the names of all 5 hosts that are to vote in place of these 2",
		"gossip:///?expect=3":                                              "write quorum://h1,h2,h3/?key-file=FILE",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		switch _, err := parse(u, func(string) string { return "" }); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (!errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v; want %s", text, err, want)
		}
	}
}
