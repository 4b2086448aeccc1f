package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	cause := &locks.Error{Op: "renew", Backend: "b", Name: "n", Err: errors.New("why\nso"), Hint: "wait"}
	for _, tt := range []struct {
		verbose int
		quiet   bool
		want    string
	}{
		{0, false, "leaderrun: warning: retry left=3s: renew \"n\" on b: why; so\nleaderrun: hint: wait\nleaderrun: error: bad\n"},
		{0, true, "leaderrun: error: bad\n"},
		{1, false, "leaderrun: acquired token=7\nleaderrun: warning: retry left=3s: renew \"n\" on b: why; so\nleaderrun: hint: wait\nleaderrun: error: bad\n"},
		{2, false, "leaderrun: renewed: renew \"n\" on b: why; so\nleaderrun: acquired token=7\nleaderrun: warning: retry left=3s: renew \"n\" on b: why; so\nleaderrun: hint: wait\nleaderrun: error: bad\n"},
	} {
		var b bytes.Buffer
		c := testConsole(&b)
		log := c.Start(Settings{Verbose: tt.verbose, Quiet: tt.quiet})
		log.Debug("renewed", "err", cause)
		log.Info("acquired", "token", 7)
		log.Warn("retry", "left", 3*time.Second, "err", cause)
		log.Error("bad")
		c.Flush()
		if b.String() != tt.want {
			t.Errorf("-v %d -q %v:\n got %q\nwant %q", tt.verbose, tt.quiet, &b, tt.want)
		}
	}
}

func TestJSONLogger(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := testConsole(&b)
	log := c.Start(Settings{Lock: "x", Backend: "etcd://u:opensesame@h", ID: "me", JSON: true})
	log.Warn("retry", "left", 3*time.Second, "err", errors.New("why\nso"))
	c.Fail(&hinted{errors.New("bad"), "do it"})
	c.Fail(errors.New("bad"))
	c.Flush()
	var got []map[string]any
	for line := range strings.Lines(b.String()) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if o["lock"] != "x" || o["backend"] != "etcd://u:xxxxx@h" || o["id"] != "me" {
			t.Errorf("got %q", line)
		}
		got = append(got, o)
	}
	if len(got) != 3 || got[0]["left"] != "3s" || got[0]["err"] != "why\nso" || got[1]["hint"] != "do it" {
		t.Errorf("got %q", &b)
	}
	if _, ok := got[2]["hint"]; ok {
		t.Errorf("an empty hint: %v", got[2])
	}
}

// TestJSONKeysStandOnce: a backend also names the lock and its address, and a message the
// holder and the token, but each key occurs once.
func TestJSONKeysStandOnce(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := testConsole(&b)
	log := c.Start(Settings{Lock: "x", Backend: "etcd", ID: "me", JSON: true})
	c.Event(event.Event{Kind: event.Acquired, Token: 7, Slot: 2})
	log.With("backend", "etcd://h", "lock", "x#2", "slot", 2).Warn("a message", "id", "other", "token", 8, "err", "why")
	c.Flush()
	const want = `"level":"WARN","msg":"a message","lock":"x","backend":"etcd","id":"me","slot":2,"token":8,"err":"why"}` + "\n"
	if _, got, _ := strings.Cut(b.String(), ","); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStalledTerminal logs to a terminal that accepts nothing, as after Ctrl-S.
func TestStalledTerminal(t *testing.T) {
	t.Parallel()
	w := &stalled{release: make(chan struct{})}
	defer close(w.release)
	c := testConsole(w)
	log := c.Start(Settings{Verbose: 2})
	c.wait = &WaitLine{out: c.sink, file: c.file, shown: true}
	within(t, 2*time.Second, "printing", func() {
		for range 3 * sinkQueue {
			log.Debug("renewed")
			c.line("error: x")
		}
		c.wait.CampaignEnded()
	})
	within(t, sinkFlush+2*time.Second, "the end", c.Flush)
}

func TestAttributesOfALogger(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := testConsole(&b)
	log := c.Start(Settings{Verbose: 1}).With("helper", "h")
	log.With("lock", "x").Info("said", "n", 1, "left", 3990154842*time.Nanosecond)
	log.Info("said", "reason", "one\nanother")
	c.Flush()
	if got, want := b.String(), "leaderrun: said helper=h lock=x n=1 left=3.99s\nleaderrun: said helper=h reason=\"one; another\"\n"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}
