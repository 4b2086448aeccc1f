package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

var (
	keyA = bytes.Repeat([]byte("a"), 32)
	keyB = bytes.Repeat([]byte("b"), 32)
)

// sealer returns one that has these keys, the first one first.
func sealer(keys ...[]byte) *Sealer { return NewSealer(func() [][]byte { return keys }) }

// A key is changed in three steps, and at each step everybody opens what anybody seals. Who lacks
// the key opens nothing.
func TestRotation(t *testing.T) {
	t.Parallel()
	steps := [][][]byte{{keyA}, {keyA, keyB}, {keyB, keyA}, {keyB}}
	for i, keys := range steps {
		from := sealer(keys...)
		packet := from.Seal([]byte("hello"))
		for j, others := range steps {
			plain, err := sealer(others...).Open(packet)
			if err != nil && max(i, j)-min(i, j) <= 1 {
				t.Errorf("step %d to step %d: %q, %v", i, j, plain, err)
			}
		}
	}
	if _, err := sealer(keyB).Open(sealer(keyA).Seal(nil)); !errors.Is(err, ErrKey) {
		t.Errorf("another key: %v", err)
	}
}

// A key that is removed opens no more, although its sender was known.
func TestRemovedKey(t *testing.T) {
	t.Parallel()
	keys := [][]byte{keyA, keyB}
	to := NewSealer(func() [][]byte { return keys })
	from := sealer(keyB)
	if _, err := to.Open(from.Seal(nil)); err != nil {
		t.Fatal(err)
	}
	keys = keys[:1]
	if _, err := to.Open(from.Seal(nil)); !errors.Is(err, ErrKey) {
		t.Errorf("got %v", err)
	}
}

// No two packets are equal, each process has its own key, and nothing of a packet can be changed.
func TestSeal(t *testing.T) {
	t.Parallel()
	a, b := sealer(keyA), sealer(keyA)
	one, two, other := a.Seal([]byte("x")), a.Seal([]byte("x")), b.Seal([]byte("x"))
	if bytes.Equal(one[headSize:], two[headSize:]) || bytes.Equal(one[headSize:], other[headSize:]) || a.salt == b.salt {
		t.Error("equal packets")
	}
	for i := range one {
		changed := bytes.Clone(one)
		changed[i] ^= 1
		if _, err := b.Open(changed); err == nil {
			t.Errorf("byte %d was changed", i)
		}
	}
	if v, k := b.Refused(); v != 1 || k != uint64(len(one)-1) {
		t.Errorf("%d of another version, %d of another key were counted", v, k)
	}
	if _, err := b.Open(one[:overhead-1]); !errors.Is(err, ErrVersion) {
		t.Errorf("too short: %v", err)
	}
}

// However many senders there are, and strangers are not even remembered.
func TestManySenders(t *testing.T) {
	t.Parallel()
	to := sealer(keyA)
	for i := range maxSenders + 100 {
		key := keyA
		if i%2 == 0 {
			key = keyB
		}
		_, _ = to.Open(sealer(key).Seal(nil))
	}
	if n := len(to.senders); n != maxSenders/2+50 {
		t.Errorf("%d senders are known", n)
	}
	for range maxSenders {
		_, _ = to.Open(sealer(keyA).Seal(nil))
	}
	if n := len(to.senders); n != maxSenders {
		t.Errorf("%d senders are known", n)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), n)) }
	for file, want := range map[string]int{
		"": 0, "# none\n": 0, text(15): 0, text(65): 0, "not base64": 0,
		text(16): 1, "# two\n" + text(32) + "\n\n " + text(64) + "\n": 2, strings.Repeat(text(32)+"\n", 9): 0,
	} {
		keys, err := Keys([]byte(file))
		if len(keys) != want && want > 0 || (err == nil) != (want > 0) {
			t.Errorf("%q: %d keys, %v; want %d", file, len(keys), err, want)
		}
	}
}

func ask() Packet {
	a := votes.Ask{Group: votes.Group{Seats: 3, Longest: time.Second, List: "l"}, Term: votes.Term{Candidate: "a", Number: 1}, Round: 1, TTL: time.Second}
	return Packet{Vote: votes.Message{Lock: "x", Ask: &a}}
}

// An answer has at most three times as many bytes as the request, whatever it could say.
func TestAnswersAreSmall(t *testing.T) {
	t.Parallel()
	request, err := ask().Encode()
	if err != nil || len(request) < least {
		t.Fatalf("a request has %d bytes, %v", len(request), err)
	}
	long := strings.Repeat("\x01", maxText)
	answer := votes.Answer{Voter: "v", Term: votes.Term{Candidate: "a", Number: 1}, Round: 1, Vote: votes.Foreign, Group: votes.Group{Seats: 3, Longest: time.Second, List: "l"}}
	p := Packet{Vote: votes.Message{Lock: "x", Answer: &answer}, List: strings.Repeat("h", maxList), Label: &Label{Label: label.Label{Holder: long, RunID: long, Host: long, Advertise: long}}}
	b, err := p.EncodeAnswer(len(request))
	if err != nil || len(b) > factor*len(request) {
		t.Errorf("an answer of %d bytes to %d, %v", len(b), len(request), err)
	}
	if got, err := Decode(b); err != nil || got.Vote.Answer == nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Calls and replies arrive as they were sent; what is too long, cut off or out of bounds does not.
func TestCalls(t *testing.T) {
	t.Parallel()
	s := sealer(keyA)
	var b bytes.Buffer
	group := votes.Group{Seats: 3, Longest: time.Second, List: "l"}
	if err := s.WriteCall(&b, &Call{Group: group, Lock: "x", Write: &Record{Text: strings.Repeat("\x01", 4096)}}); err != nil {
		t.Fatal(err)
	}
	sent := bytes.Clone(b.Bytes())
	if c, err := s.ReadCall(&b); err != nil || c.Group != group || len(c.Write.Text) != 4096 {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := s.ReadCall(bytes.NewReader(sent[:len(sent)-1])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut off: %v", err)
	}
	if _, err := s.ReadCall(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff})); err == nil {
		t.Error("4 GiB are announced, and accepted")
	}
	b.Reset()
	if err := s.WriteCall(&b, &Call{Lock: strings.Repeat("x", 300)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadCall(&b); err == nil {
		t.Error("a name of 300 bytes is accepted")
	}
	b.Reset()
	if err := s.WriteReply(&b, &Reply{Group: group, Entries: []Entry{{Name: "x", Record: &Record{Text: strings.Repeat("x", 5000)}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadReply(&b); err == nil {
		t.Error("a record of 5000 bytes is accepted")
	}
}

// FuzzDecode: whatever somebody with the key sends, it is within bounds or refused.
func FuzzDecode(f *testing.F) {
	b, _ := ask().Encode()
	f.Add(b)
	f.Add([]byte(`{"vote":{"lock":"x"},"request":"r"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		if p.Request == "" && p.Vote.Check() != nil {
			t.Errorf("%+v is out of bounds", p)
		}
		if _, err := p.EncodeAnswer(least); err == nil && len(b) > maxPacket {
			t.Error("too long")
		}
	})
}

// FuzzOpen: whatever a stranger sends is not opened.
func FuzzOpen(f *testing.F) {
	s := sealer(keyA)
	f.Add(sealer(keyB).Seal([]byte("x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain, err := s.Open(b); err == nil {
			t.Errorf("opened: %q", plain)
		}
	})
}

// Who answers in the place of a voter, without the key, cannot answer a call with the reply to
// another one.
func TestOldReply(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := sealer(keyA)
	go func() {
		var old bytes.Buffer
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			call, err := s.ReadCall(conn)
			if err == nil && old.Len() == 0 {
				_ = s.WriteReply(&old, &Reply{Nonce: call.Nonce, Group: votes.Group{Seats: 3, Longest: time.Minute, List: "x"}, Done: true})
			}
			_, _ = conn.Write(old.Bytes())
			_ = conn.Close()
		}
	}()
	c := &Client{net: Real{}, sealer: s}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	if r, err := c.CallAt(t.Context(), at, &Call{}); err != nil || !r.Done {
		t.Errorf("the first call: %+v, %v", r, err)
	}
	if r, err := c.CallAt(t.Context(), at, &Call{}); err == nil {
		t.Errorf("an old reply was believed: %+v", r)
	}
}
