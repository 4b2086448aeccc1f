package quorum

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/quorumtest"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// at opens a handle on a lock of some voters.
func at(t *testing.T, address string, ttl time.Duration) *Lock {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(u, locks.Options{Name: "nightly", TTL: ttl, ConnectTimeout: 5 * time.Second, Holder: "host/1/a"}, wire.Real{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// standing starts three voters that vote.
func standing(t *testing.T, longest time.Duration) *quorumtest.Voters {
	t.Helper()
	v := quorumtest.New(t, 3, longest)
	v.Start()
	v.Open()
	return v
}

// Voters that are started again, one after the other and all at once, take the lock from nobody,
// and let nobody else lead.
func TestRestartsUnderALeader(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("promises are only continued on Linux")
	}
	const ttl = 4 * time.Second
	v := standing(t, ttl)
	l := at(t, v.URL(""), ttl)
	drive.Hold(t, l)
	for i := range 12 {
		v.Stop(i % 3)
		v.Start(i % 3)
		drive.Renew(t, l)
	}
	for i := range v.Names {
		v.Stop(i)
	}
	v.Start()
	drive.Renew(t, l)
	if _, err := at(t, v.URL(""), ttl).Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("another: got %v; want ErrHeld", err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	drive.Hold(t, at(t, v.URL(""), ttl))
}

// A majority of voters that has forgotten its promises does not vote until no lease can be left.
func TestForgetfulVoters(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	v := standing(t, ttl)
	l := at(t, v.URL(""), ttl)
	drive.Hold(t, l)
	start := time.Now()
	for i := range 2 {
		v.Stop(i)
		v.Forget(i)
		v.Start(i)
	}
	st, err := l.Inspect(t.Context())
	if details := strings.Join(st.Details, "\n"); err == nil || strings.Contains(details, "votes for nobody") {
		t.Errorf("got %v, %s", err, details)
	}
	if _, err := at(t, v.URL(""), ttl).Acquire(t.Context(), false); err != nil || time.Since(start) < ttl-100*time.Millisecond {
		t.Errorf("another got the lock after %v, %v", time.Since(start), err)
	}
}

// A voter whose disk is new takes the records of the others, before its own count.
func TestNewDisk(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	v := standing(t, ttl)
	l := at(t, v.URL(""), ttl)
	drive.Hold(t, l)
	drive.Eventually(t, 30*time.Second, "the voters have met", func() bool {
		return l.SetRecord(t.Context(), []byte("kept")) == nil && l.Renew(t.Context()) == nil && readable(l)
	})
	for i := range 2 { // one after the other: each takes it from those before it
		v.Stop(i)
		v.Forget(i)
		if err := os.RemoveAll(v.Config(i).State); err != nil {
			t.Fatal(err)
		}
		v.Start(i)
		drive.Eventually(t, 30*time.Second, "it has gathered the records", func() bool { return readable(l) && whole(l) == 3 })
	}
	v.Stop(2)
	time.Sleep(ttl)
	if text, err := l.Record(t.Context()); string(text) != "kept" {
		t.Errorf("got %q, %v", text, err)
	}
}

func readable(l *Lock) bool {
	_, err := l.Record(context.Background())
	return err == nil
}

// whole returns how many voters have all records.
func whole(l *Lock) (n int) {
	v, _ := l.ask(context.Background(), wire.Call{Lock: "x"}, (*view).majority)
	for _, r := range v.replies {
		if !r.Partial {
			n++
		}
	}
	return n
}

// A host with another list of seats gets no vote, and learns of both lists. It stops nobody.
func TestOtherLists(t *testing.T) {
	t.Parallel()
	const ttl = 5 * time.Second
	v := standing(t, ttl)
	l := at(t, v.URL(""), ttl)
	drive.Hold(t, l)
	other := strings.Replace(v.URL(""), v.Names[2], "127.0.0.1:1", 1)
	_, err := at(t, other, ttl).Acquire(t.Context(), false)
	if err == nil || !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "127.0.0.1:1,") && !strings.Contains(err.Error(), ",127.0.0.1:1 ") || !strings.Contains(err.Error(), strings.Join(v.Names, ",")) {
		t.Errorf("got %v", err)
	}
	if _, err := at(t, other, ttl).Inspect(t.Context()); err == nil || !strings.Contains(err.Error(), "another list of seats") {
		t.Errorf("inspect: got %v", err)
	}
	drive.Renew(t, l)
}

// Packets of a stranger change nothing and are not answered.
func TestStrangers(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	v := standing(t, ttl)
	l := at(t, v.URL(""), ttl)
	drive.Hold(t, l)
	conn, err := net.Dial("udp", v.Names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	term, _, _ := l.Term()
	stranger := wire.NewSealer(func() [][]byte { return [][]byte{[]byte("another key of 32 bytes for this")} })
	p := wire.Packet{}
	p.Vote.Lock = "nightly"
	p.Vote.Withdrawal = &votes.Withdrawal{Term: term}
	plain, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		for _, b := range [][]byte{stranger.Seal(plain), plain, nil, make([]byte, 60_000)} {
			_, _ = conn.Write(b)
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 100)); err == nil {
		t.Errorf("a stranger has got %d bytes", n)
	}
	drive.Renew(t, l)
	servers, err := l.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range servers.Findings {
		found = found || f.Check == "key" && strings.Contains(f.Text, "packets that none of its keys opens")
	}
	if !found {
		t.Errorf("doctor does not say so: %+v", servers.Findings)
	}
}
