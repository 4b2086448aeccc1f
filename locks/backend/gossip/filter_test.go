package gossip

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// compressed is memberlist's message of compressed data.
func compressed(data []byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte("\x09\x82\xa4Algo\x00\xa3Buf\xdb"), uint32(len(data)))
	return append(head, data...)
}

// bomb is a packet that expands to so many bytes, in two steps. The first one is LZW whose
// table is never cleared, so that it repeats one code.
func bomb(t testing.TB, size int) []byte {
	t.Helper()
	var inner []byte
	var bits, have, next uint = 0, 0, 257
	put := func(code uint) {
		width := uint(9)
		for next >= 1<<width && width < 12 {
			width++
		}
		bits, have = bits|code<<have, have+width
		for ; have >= 8; bits, have = bits>>8, have-8 {
			inner = append(inner, byte(bits))
		}
		next = min(next+1, 4095)
	}
	put(0)
	for made, n := 1, 1; made < size; made += n {
		code := next
		if n++; next >= 4094 {
			code, n = 4093, 4093-258+2
		}
		put(code)
	}
	put(257)
	var outer bytes.Buffer
	w := lzw.NewWriter(&outer, lzw.LSB, 8)
	if _, err := w.Write(compressed(append(inner, byte(bits), 0, 0))); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	b := compressed(outer.Bytes())
	if len(b) > 60<<10 {
		t.Fatalf("the packet has %d bytes", len(b))
	}
	return b
}

// TestBomb: the packet of the other tests is one.
func TestBomb(t *testing.T) {
	t.Parallel()
	read := func(b []byte) []byte { // a message within a message
		b, err := io.ReadAll(lzw.NewReader(bytes.NewReader(b[len("\x09\x82\xa4Algo\x00\xa3Buf\xdb1234"):]), lzw.LSB, 8))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if got := len(read(read(bomb(t, 1<<20)))); got < 1<<20 {
		t.Errorf("it expands to %d bytes", got)
	}
}

func labelled(b []byte) []byte { return append(bytes.Clone(header), b...) }

func compound(parts ...[]byte) []byte {
	b := []byte{compoundMsg, byte(len(parts))}
	for _, p := range parts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
	}
	return append(b, bytes.Join(parts, nil)...)
}

// alone starts a member that anybody of this machine can send to, and that leads.
func alone(t *testing.T, change func(*locks.Options)) (*Lock, locks.Grant) {
	t.Helper()
	l := newElders(t, "min=1").member(t, 1, change).(*Lock)
	return l, drive.Hold(t, l)
}

// TestHostilePackets: what ends memberlist, or exhausts its memory, does not reach it.
func TestHostilePackets(t *testing.T) { // nothing else allocates meanwhile
	l, _ := alone(t, nil)
	conn, err := net.Dial("udp", l.member().addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	boom := bomb(t, 256<<20)
	crc := append([]byte{crcMsg, 0, 0, 0, 0}, boom...) // memberlist refuses the sum, or expands
	alive := []byte("\x04\x86\xabIncarnation\x01\xa4Node\xa1x\xa4Addr\xa4\x7f\x00\x00\x01\xa4Port\xcd\x1f\x1b\xa4Meta\xc0\xa3Vsn\xa1\x01")
	for what, b := range map[string][]byte{
		"an expanding one": boom, "with a sum": crc, "in a compound one": compound(boom), "in two compound ones": compound(compound(boom)),
		"one that is compound beyond its end": {compoundMsg, 255, 0}, "an empty compound one": {compoundMsg}, "a compound one of nothing": compound(nil),
		"an alive one with one version": alive, "and in a compound one": compound(alive, alive),
	} {
		for _, b := range [][]byte{labelled(b), b} {
			if got := allocated(func() {
				if _, err := conn.Write(b); err != nil {
					t.Fatal(err)
				}
				answers(t, conn)
			}); got > 32<<20 {
				t.Errorf("%s: %d bytes allocated for %d", what, got, len(b))
			}
		}
	}
	drive.Renew(t, l)
}

// answers waits until a member has answered a ping, and so has read what came before it.
func answers(t *testing.T, conn net.Conn) {
	t.Helper()
	buf := make([]byte, 1000)
	drive.Eventually(t, long, "the member answers", func() bool {
		_, _ = conn.Write(labelled([]byte("\x00\x82\xa5SeqNo\x07\xa4Node\xa0")))
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		n, err := conn.Read(buf)
		return err == nil && n > 0
	})
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileStreams is the same for streams.
func TestHostileStreams(t *testing.T) {
	l, _ := alone(t, nil)
	user := binary.BigEndian.AppendUint64([]byte("\x08\x81\xaaUserMsgLen\xd3"), 1<<62)
	nothing := []byte("\x09\x82\xa4Algo\x00\xa3Buf\xa2\x01\x01")
	state := func(nodes, length uint32, node string) []byte {
		b := binary.BigEndian.AppendUint32([]byte("\x06\x83\xa5Nodes\xce"), nodes)
		b = binary.BigEndian.AppendUint32(append(b, "\xacUserStateLen\xce"...), length)
		return append(append(b, "\xa4Join\xc3"...), node...)
	}
	for what, b := range map[string][]byte{
		"a message of 4 EiB": user, "compressed nothing": nothing, "an expanding one": bomb(t, 256<<20),
		"many members": state(1<<19, 0, strings.Repeat("\x80", 1<<19)), "20 MB of state": state(0, 20<<20, strings.Repeat("x", 1<<16)),
		"one version": state(1, 0, "\x82\xa4Name\xa1x\xa3Vsn\xa1\x01"), "versions in an array": state(1, 0, "\x81\xa3Vsn\x91\x01"),
		"a member as an array": state(1, 0, "\x97\xa1x\xa4\x7f\x00\x00\x01\x01\xc0\x01\x00\xa1\x01"+strings.Repeat("\xc0", 7)),
		"a name of 4 GiB":      state(1, 0, "\x81\xa4Name\xdb\xff\xff\xff\xff"), "a key of 4 GiB": []byte("\x00\x81\xdb\xff\xff\xff\xff"),
		"a negative number": []byte("\x06\x81\xa5Nodes\xd3\xff\xff\xff\xff\xff\xff\xff\xff"), "an encrypted one": []byte("\x0a\xff\xff\xff\xff"),
	} {
		for _, b := range [][]byte{labelled(b), b} {
			if got := allocated(func() {
				conn, err := net.Dial("tcp", l.member().addr.String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_, _ = conn.Write(b)
				_ = conn.SetReadDeadline(time.Now().Add(long))
				if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
					t.Errorf("%s: %v", what, err)
				}
			}); got > 16<<20 {
				t.Errorf("%s: %d bytes allocated for %d", what, got, len(b))
			}
		}
	}
	drive.Renew(t, l)
}

// TestLongSecret: who lacks the key cannot make a member read a long stream.
func TestLongSecret(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("MDEyMzQ1Njc4OWFiY2RlZg=="), 0o600); err != nil {
		t.Fatal(err)
	}
	l := newElders(t, "min=1&key-file="+key).member(t, 1, nil).(*Lock)
	drive.Hold(t, l)
	b := labelled(append(binary.BigEndian.AppendUint32([]byte{encryptMsg}, 16<<20), make([]byte, 8<<20)...))
	if got := allocated(func() {
		conn, err := net.Dial("tcp", l.member().addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write(b)
		_ = conn.SetReadDeadline(time.Now().Add(long))
		_, _ = io.Copy(io.Discard, conn)
	}); got > 2<<20 {
		t.Errorf("%d bytes allocated", got)
	}
	drive.Renew(t, l)
}

// TestFloods: who opens many streams, or invents members, only keeps out others.
func TestFloods(t *testing.T) {
	t.Parallel()
	l, _ := alone(t, nil)
	n := l.member()
	for range 2 * maxStreams {
		conn, err := net.Dial("tcp", n.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	drive.Eventually(t, long, "no more streams are open than may be", func() bool { return len(n.filter.open) == maxStreams })
	drive.Eventually(t, long, "silent streams end", func() bool { return len(n.filter.open) == 0 })
	conn, err := net.Dial("udp", n.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range 2 * maxMembers {
		_, _ = conn.Write(labelled(fmt.Appendf(nil, "\x04\x86\xabIncarnation\x01\xa4Node\xa5%05d\xa4Addr\xa4\x7f\x00\x00\x01\xa4Port\xcd\x00\x09\xa4Meta\xc0\xa3Vsn\xa6\x01\x05\x02\x00\x00\x00", i)))
		if i%64 == 0 {
			answers(t, conn)
		}
	}
	if got := len(n.inSight()); got > maxMembers || got < maxMembers/2 {
		t.Errorf("%d members are known", got)
	}
	drive.Renew(t, l)
}

// TestNoReflector: a member sends nothing to an address that a message names, whatever it asks
// for, and nobody's word ends a term.
func TestNoReflector(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	l, g := alone(t, nil)
	victim, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer victim.Close()
	go func() {
		defer close(asked)
		_ = victim.SetReadDeadline(time.Now().Add(long))
		n, _, err := victim.ReadFrom(make([]byte, 1000))
		if err == nil {
			t.Errorf("the victim got %d bytes", n)
		}
	}()
	conn, err := net.Dial("udp", l.member().addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	term := map[string]any{"candidate": l.id, "number": 1}
	for _, m := range []any{
		map[string]any{"from": victim.LocalAddr().String(), "look": map[string]any{"id": "x", "lock": "", "list": true}},
		map[string]any{"from": victim.LocalAddr().String(), "vote": map[string]any{"lock": "x", "withdrawal": map[string]any{"term": term}}},
		request{"1", l.card.Lock, g.Token + 1, "resign"}, request{"2", "x", g.Token, "resign"},
		request{strings.Repeat("x", maxID+1), l.card.Lock, g.Token, "resign"}, request{"4", l.card.Lock, g.Token, strings.Repeat("x", locks.MaxRecord+1)},
	} {
		b, _ := json.Marshal(m)
		_, _ = conn.Write(labelled(append([]byte{8}, b...)))
	}
	_, _ = conn.Write(labelled([]byte("\x08{")))
	answers(t, conn)
	good, _ := json.Marshal(request{"5", l.card.Lock, g.Token, "the last one"}) // memberlist keeps the order
	_, _ = conn.Write(labelled(append([]byte{8}, good...)))
	drive.IsAsked(t, l, "the last one")
	_ = victim.SetReadDeadline(time.Now())
	<-asked
	drive.Renew(t, l)
}

// TestLabel: a member of another program's cluster is none of ours.
func TestLabel(t *testing.T) {
	t.Parallel()
	l, _ := alone(t, nil)
	for _, b := range [][]byte{[]byte("\x00\x82\xa5SeqNo\x07\xa4Node\xa0"), append([]byte{labelMsg, 4}, "serf\x00\x82\xa5SeqNo\x07\xa4Node\xa0"...)} {
		conn, err := net.Dial("tcp", l.member().addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write(b)
		if n, _ := conn.Read(make([]byte, 100)); n > 0 {
			t.Errorf("%q was answered", b)
		}
	}
}

// FuzzStream: nothing that arrives ends the scanner, or makes it accept versions that end
// memberlist.
func FuzzStream(f *testing.F) {
	f.Add([]byte("\xf4\x09leaderrun\x06\x83\xa5Nodes\x01\xacUserStateLen\x02\xa4Join\xc3\x81\xa3Vsn\xa6123456xy"))
	f.Add([]byte("\xf4\x09leaderrun\x00\x82\xa5SeqNo\xd2\x00\x00\x00\x07\xa4Node\xda\x00\x01x"))
	f.Add([]byte("\xf4\x09leaderrun\x07\x02\x00\x01\x00\x02\x00\x04x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		harmless(b)
		for _, sealed := range []bool{false, true} {
			s := &scanner{r: bytes.NewReader(b)}
			s.stream(true, sealed)
		}
		one := &scanner{r: io.MultiReader(bytes.NewReader([]byte("\x06\x81\xa5Nodes\x01\x81\xa3Vsn\xa1\x01")), bytes.NewReader(b))}
		if one.stream(false, false); one.err == nil {
			t.Error("a member with one version")
		}
	})
}

// A busy is a listener that has no descriptor for the first who comes.
type busy struct {
	net.Listener
	failed bool
}

func (l *busy) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

// Whoever could not be admitted once does not close the door.
func TestDoorStaysOpen(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &filter{streams: make(chan net.Conn, 1), open: make(chan struct{}, 1), ended: make(chan struct{})}
	ended := make(chan struct{})
	go func() { defer close(ended); f.attend(&busy{Listener: l}) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	select {
	case s := <-f.streams:
		_ = s.Close()
	case <-time.After(drive.Patience):
		t.Error("nobody is admitted any more")
	}
	_ = l.Close()
	<-ended
}
