package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestPlace: what may be different after a boot is an outage, and what the operator must mend is
// an error.
func TestPlace(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("MDEyMzQ1Njc4OWFiY2RlZg=="), 0o600); err != nil {
		t.Fatal(err)
	}
	const unknown, elsewhere, ours = "nobody.invalid", "192.0.2.1", "127.0.1.1"
	for _, test := range []struct {
		hosts, bind string
		class       error
		want        string
	}{
		{unknown, "", locks.ErrUnavailable, unknown},
		{elsewhere + "," + unknown, "", locks.ErrUnavailable, unknown},
		{ours + "," + unknown, "", locks.ErrUnavailable, unknown}, // it may be elsewhere
		{elsewhere, "", locks.ErrUnavailable, "is not there yet"},
		{elsewhere, unknown, locks.ErrUnavailable, unknown + ":7963 cannot be resolved"},
		{elsewhere, elsewhere, locks.ErrUnavailable, "assign requested address"},
		{ours + "," + elsewhere, "", locks.ErrUsage, "/etc/hosts"},
		{elsewhere, ours, locks.ErrUsage, "/etc/hosts"},
	} {
		query := url.Values{"min": {"1"}, "key-file": {key}, "bind": {test.bind}}
		l := drive.Open(t, Open, "gossip://"+test.hosts+"?"+query.Encode(), locks.Options{Name: "x", TTL: time.Second, ConnectTimeout: time.Second})
		if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s at %q: got %v; want %s", test.hosts, test.bind, err, test.want)
		}
	}
	u := "gossip://" + elsewhere + "?min=1&bind=" + elsewhere
	l := drive.Open(t, Open, u, locks.Options{Name: "x", TTL: time.Second, ConnectTimeout: time.Second})
	if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "name a file with a secret key with key-file=") {
		t.Errorf("without a key: got %v", err)
	}
}

// TestDoor: of two runs on a machine one has the port that others know. When it has ended,
// others find the second one there.
func TestDoor(t *testing.T) {
	t.Parallel()
	e := newElders(t, "min=1")
	first, second, third := e.member(t, 1, nil), e.member(t, 1, nil), e.member(t, 2, nil)
	drive.Hold(t, first)
	won := campaign(t, second)
	isContending(t, first, 2)
	seat := netip.MustParseAddrPort(fmt.Sprintf("127.2.0.1:%d", e.port))
	if got := second.(*Lock).member().addr; got == seat || got.Addr() != seat.Addr() {
		t.Errorf("the second one is at %v", got)
	}
	_ = first.Close()
	drive.Within(t, long, won)
	drive.Eventually(t, long, "the second one takes the port", func() bool {
		c, err := net.Dial("tcp", seat.String())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	isHeld(t, third, "member 1")
}

// TestKeys: members with a key hear each other. Who has another key, or none, is not heard. The
// file is read again.
func TestKeys(t *testing.T) {
	t.Parallel()
	const old, other = "MDEyMzQ1Njc4OWFiY2RlZg==", "YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk="
	dir := t.TempDir()
	file := func(name string, keys ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("# keys\n"+strings.Join(keys, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		return "min=1&key-file=" + path
	}
	e := newElders(t, file("old", old))
	drive.Hold(t, e.member(t, 1, nil))
	sees := func(query string) bool {
		e.query = query
		return drive.Inspect(t, e.member(t, 2, nil).(locks.Inspector)).Held
	}
	drive.Eventually(t, long, "the same key is enough", func() bool { return sees(file("old", old)) })
	if sees("min=1") {
		t.Error("without a key: the leader is seen")
	}
	if sees(file("other", other)) {
		t.Error("with another key: the leader is seen")
	}
	file("old", other, old)
	drive.Eventually(t, long, "the new key is read", func() bool { return sees(file("other", other)) })
}

// TestProbe: doctor learns which seed answers.
func TestProbe(t *testing.T) {
	t.Parallel()
	e := newElders(t, "min=1")
	drive.Hold(t, e.member(t, 1, nil))
	l := e.member(t, 4, nil)
	found, err := l.(locks.Prober).Probe(drive.Context(t))
	if err != nil || len(found.Servers) != 3 {
		t.Fatalf("got %+v, %v", found, err)
	}
	if s := found.Servers[0]; s.Error != "" || s.RTT <= 0 {
		t.Errorf("the member that is there: %+v", s)
	}
	if s := found.Servers[1]; !strings.HasPrefix(s.Error, "over TCP: dial tcp 127.2.0.2:") || !strings.HasSuffix(s.Error, "connection refused") {
		t.Errorf("one that is not: %+v", s)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.(locks.Inspector).Inspect(over); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if text := fmt.Sprint(found.Findings); !strings.Contains(text, "gossip excludes nobody") || !strings.Contains(text, "1 contend for this lock, and 1 lead") {
		t.Errorf("got %s", text)
	}
}
