package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestServer judges the report of one server.
func TestServer(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(d time.Duration) locks.Server {
		return locks.Server{Address: "h:1", TLS: "1.3", Expires: now.Add(d), Ours: now, Time: now}
	}
	ahead := func(d time.Duration) locks.Server { return locks.Server{Address: "h:1", Ours: now, Time: now.Add(d)} }
	both := at(24 * time.Hour)
	both.Time = now.Add(time.Hour)
	expiredToo := at(-time.Hour)
	expiredToo.Time = now.Add(time.Hour)
	for name, tt := range map[string]struct {
		server locks.Server
		want   Level
		text   string
	}{
		"plain":               {locks.Server{Address: "h:1", Version: "3.5", Role: "leader", RTT: time.Millisecond}, OK, "h:1: etcd 3.5, leader, answers in 1ms, no TLS"},
		"tls":                 {locks.Server{Address: "h:1", TLS: "1.2"}, OK, "TLS 1.2"},
		"a good certificate":  {at(15 * 24 * time.Hour), OK, "good for 15 days"},
		"one that ends soon":  {at(13 * 24 * time.Hour), Warning, "ends in 13 days"},
		"one that has ended":  {at(-time.Minute), Error, "ended on"},
		"clocks that agree":   {ahead(-5 * time.Second), OK, "clocks agree within 5s"},
		"a clock ahead":       {ahead(6 * time.Second), Warning, "ahead of ours by 6s"},
		"a clock behind":      {ahead(-time.Hour), Warning, "behind ours by 1h"},
		"two warnings":        {both, Warning, "ahead of ours"},
		"an error, a warning": {expiredToo, Error, "ended on"},
		"hostile text":        {locks.Server{Address: "h\x1b[2J", Version: "\n1"}, OK, `h\x1b[2J: etcd \n1`},
	} {
		c := new(exam).serverCheck("etcd", tt.server)
		if c.Level != tt.want || !strings.Contains(c.Text, tt.text) || (c.Fix == "") != (tt.want == OK) {
			t.Errorf("%s: got %+v; want %s, %q", name, c, tt.want, tt.text)
		}
	}
}

// TestServers judges several servers, and the other results of a probe.
func TestServers(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.servers = locks.Servers{
		Product: "fake", User: "alice\x07",
		Servers: []locks.Server{{Address: "a:1"}, {Address: "b:1", Error: "refused", Class: "unavailable"}, {Address: "c:1", Error: "no", Class: "denied"}},
		Findings: []locks.Finding{
			{Check: "alarms", Level: "ok", Text: "none"},
			{Check: "disk", Level: "warning", Text: "slow", Fix: "buy another"},
			{Check: "quota", Level: "error", Text: "full"},
			{Check: "mute", Level: "ok"},
			{Check: "odd", Level: "?", Text: "\x1b"},
		},
	}
	checks := examine(t, s, nil)
	var servers []Check
	for _, c := range checks {
		if c.Name == "server" {
			servers = append(servers, c)
		}
	}
	if len(servers) != 3 || servers[0].Level != OK || servers[1].Level != Warning || servers[2].Level != Warning || servers[1].Fix == "" {
		t.Errorf("got %+v; want one ok, and two warnings", servers)
	}
	if c := find(t, checks, "user"); c.Text != `alice\a` {
		t.Errorf("got %+v; want alice, escaped", c)
	}
	for name, want := range map[string]Level{"alarms": OK, "disk": Warning, "quota": Error, "odd": Warning, "mute": OK, "permissions": OK} {
		if c := find(t, checks, name); c.Level != want || c.Text == "" || want == Error && c.Fix == "" {
			t.Errorf("got %+v; want %s", c, want)
		}
	}
	if worst(checks) != errOther {
		t.Errorf("the worst is %v; want that of a finding", worst(checks))
	}
}

// TestServerThatDoesNotTell: a server that does not report on itself may still keep locks.
func TestServerThatDoesNotTell(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"denied", ""} {
		s := newStore()
		s.servers.Servers[0] = locks.Server{Address: "h:1", Error: "root only", Class: class}
		checks := examine(t, s, nil)
		if c := find(t, checks, "server"); c.Level != Warning || (c.Fix == "") != (class == "") {
			t.Errorf("class %q: got %+v; want a warning", class, c)
		}
		if c := find(t, checks, "take-over"); c.Level != OK || worst(checks) != nil {
			t.Errorf("class %q: got %+v, and the worst is %v; want all well", class, c, worst(checks))
		}
	}
	s := newStore()
	s.servers.Servers[0] = locks.Server{Address: "h:1", Error: "no", Class: "denied"}
	s.fail["acquire"] = locks.ErrDenied
	if got := worst(examine(t, s, nil)); !errors.Is(got, locks.ErrDenied) {
		t.Errorf("the worst is %v; want ErrDenied", got)
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 399)
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {"a\x1b[2J", `a\x1b[2J`}, {long + "\n", long + `\n`}, {strings.Repeat("x", 5000), strings.Repeat("x", maxSentences)}, {"\xff", `\ufffd`},
	} {
		if got := escape(tt.in); got != tt.want {
			t.Errorf("escape(%q) = %q; want %q", tt.in, got, tt.want)
		}
	}
}
