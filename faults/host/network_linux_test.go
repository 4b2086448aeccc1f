package host

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// blink is how long to wait to see that nothing arrives.
const blink = 300 * time.Millisecond

// A peer is a server of lines, with one client on a host.
type peer struct {
	addr string
	got  chan string   // what the server was sent
	conn chan net.Conn // its end of each connection
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &peer{addr: l.Addr().String(), got: make(chan string, 100), conn: make(chan net.Conn, 100)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.conn <- c
			go lines(c, p.got)
		}
	}()
	return p
}

// lines reads a connection until it ends.
func lines(c net.Conn, got chan<- string) {
	defer c.Close()
	for s := bufio.NewScanner(c); s.Scan(); {
		got <- s.Text()
	}
}

// dial makes a connection from the host to an address.
func dial(h *Host, addr string, limit time.Duration) (net.Conn, error) {
	var c net.Conn
	err := h.thread.do(func() (err error) {
		c, err = net.DialTimeout("tcp", addr, limit)
		return err
	})
	return c, err
}

// A link is a connection of a host to a peer, both ends of it.
type link struct {
	client, server       net.Conn
	clientGot, serverGot chan string
}

func newLink(t *testing.T, h *Host, p *peer) *link {
	t.Helper()
	c, err := dial(h, h.Addr(p.addr), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	l := &link{client: c, clientGot: make(chan string, 100), serverGot: p.got}
	select {
	case l.server = <-p.conn:
	case <-time.After(patience):
		t.Fatal("the connection leads elsewhere")
	}
	go lines(c, l.clientGot)
	return l
}

func say(t *testing.T, c net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, who string, got <-chan string, want string) {
	t.Helper()
	select {
	case line := <-got:
		if line != want {
			t.Errorf("the %s got %q, want %q", who, line, want)
		}
	case <-time.After(patience):
		t.Fatalf("the %s does not get %q", who, want)
	}
}

func wantsNothing(t *testing.T, who string, got <-chan string) {
	t.Helper()
	select {
	case line := <-got:
		t.Errorf("the %s got %q through a black hole", who, line)
	case <-time.After(blink):
	}
}

// TestBlackhole sends a line each way, and checks which of them arrive, and that both
// arrive in the end, with lost packets and with a proxy that holds data back.
func TestBlackhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm                        func(*Host)
		requestsArrive, repliesCome bool
	}{
		"both":     {(*Host).Blackhole, false, false},
		"requests": {(*Host).BlackholeRequests, false, true},
		"replies":  {(*Host).BlackholeReplies, true, false},
	} {
		for _, kind := range []Kind{Namespace, Proxied} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				p := newPeer(t)
				h := hostOfKind(t, kind, p.addr)
				l := newLink(t, h, p)
				c.harm(h)
				say(t, l.client, "request")
				say(t, l.server, "reply")
				if c.requestsArrive {
					wants(t, "server", l.serverGot, "request")
				}
				if c.repliesCome {
					wants(t, "client", l.clientGot, "reply")
				}
				if !c.requestsArrive {
					wantsNothing(t, "server", l.serverGot)
				}
				if !c.repliesCome {
					wantsNothing(t, "client", l.clientGot)
				}
				h.Heal()
				if !c.requestsArrive {
					wants(t, "server", l.serverGot, "request")
				}
				if !c.repliesCome {
					wants(t, "client", l.clientGot, "reply")
				}
			})
		}
	}
}

// hostOfKind makes a host whose network is of a kind.
func hostOfKind(t *testing.T, kind Kind, server string) *Host {
	t.Helper()
	if kind == Namespace {
		return newHostWith(t, Network, Options{Servers: []string{server}})
	}
	h := New(t, Options{Servers: []string{server}, Proxied: true})[0]
	if got := h.Network(); got != Proxied {
		t.Fatalf("network: %s", got)
	}
	return h
}

// TestBlackholeTellsNobody checks that a new connection is neither refused nor reported
// as unreachable, whichever way the packets are lost.
func TestBlackholeTellsNobody(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*Host){
		"both": (*Host).Blackhole, "requests": (*Host).BlackholeRequests, "replies": (*Host).BlackholeReplies,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t)
			h := newHostWith(t, Network, Options{Servers: []string{p.addr}})
			harm(h)
			var failure net.Error
			if c, err := dial(h, h.Addr(p.addr), blink); !errors.As(err, &failure) || !failure.Timeout() {
				t.Errorf("a new connection: %v, %v, want a timeout", c, err)
			}
			h.Heal()
			newLink(t, h, p)
		})
	}
}

// TestLoseAlias loses one address of a server, and reaches the server at the other.
func TestLoseAlias(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	h := newHostWith(t, Network, Options{Servers: []string{p.addr}})
	h.LoseAlias()
	var failure net.Error
	if c, err := dial(h, h.Alias(), blink); !errors.As(err, &failure) || !failure.Timeout() {
		t.Errorf("a new connection: %v, %v, want a timeout", c, err)
	}
	newLink(t, h, p)
	h.Heal()
	c, err := dial(h, h.Alias(), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	say(t, c, "healed")
	wants(t, "server", p.got, "healed")
}

// TestServerName looks up the name's addresses on the host, and nowhere else.
func TestServerName(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Names, Options{Servers: []string{newPeer(t).addr}})
	name, port, err := net.SplitHostPort(h.ServerName())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, addr := range []string{h.Alias(), h.Addrs()[0]} {
		want = append(want, strings.TrimSuffix(addr, ":"+port)+" "+name)
	}
	out, err := h.Command("grep", name, "/etc/hosts").Output()
	if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, strings.Fields(strings.Join(want, " "))) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if text, err := os.ReadFile("/etc/hosts"); err != nil || strings.Contains(string(text), name) {
		t.Errorf("outside: %s, %v", text, err)
	}
}

// TestApart harms one host, and one server of another, and checks that everything else
// works.
func TestApart(t *testing.T) {
	t.Parallel()
	a, b := newPeer(t), newPeer(t)
	hosts := New(t, Options{Hosts: 3, Servers: []string{a.addr, b.addr}})
	for i, h := range hosts {
		if got := h.Addrs(); len(got) != 2 || got[0] != h.Addr(a.addr) || got[1] != h.Addr(b.addr) {
			t.Errorf("host %d: servers at %q", i, got)
		}
	}
	var toA, toB []*link
	for _, h := range hosts {
		toA, toB = append(toA, newLink(t, h, a)), append(toB, newLink(t, h, b))
	}
	hosts[0].Blackhole()
	hosts[1].Proxy(a.addr).CutAll()
	for _, l := range []*link{toA[0], toB[0], toA[1]} {
		say(t, l.client, "lost")
	}
	wantsNothing(t, "server", a.got)
	wantsNothing(t, "server", b.got)
	for _, l := range []*link{toB[1], toA[2], toB[2]} {
		say(t, l.client, "b")
		wants(t, "server", l.serverGot, "b")
	}
}

func TestResetAndRefuse(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	h := newHostWith(t, "", Options{Servers: []string{p.addr}})
	for name, harm := range map[string]func(){"Reset": h.Reset, "Refuse": h.Refuse} {
		c, err := dial(h, h.Addr(p.addr), patience)
		if err != nil {
			t.Fatal(err)
		}
		say(t, c, name)
		wants(t, "server", p.got, name) // so the proxy has it among its connections
		harm()
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
		h.Heal()
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	h := newHostWith(t, "", Options{Servers: []string{p.addr}})
	l := newLink(t, h, p)
	h.Delay(blink)
	start := time.Now()
	say(t, l.client, "late")
	wants(t, "server", l.serverGot, "late")
	if d := time.Since(start); d < blink {
		t.Errorf("delayed by %v, want %v", d, blink)
	}
}

// TestPairOf checks that each link has its own network, and that all are in the range.
func TestPairOf(t *testing.T) {
	t.Parallel()
	base := netip.MustParsePrefix("10.64.0.0/10")
	seen := map[netip.Prefix]int{}
	for _, index := range []int{1, 2, 3, 63, 64, 65, 16384, 1<<19 - 1} {
		us, host, alias := pairOf(base, index)
		net := netip.PrefixFrom(us, 29).Masked()
		if other, ok := seen[net]; ok || us == host || alias == us || alias == host || !net.Contains(host) || !net.Contains(alias) || !base.Contains(us) {
			t.Errorf("link %d: %v and %v, which are link %d's, or apart, or outside", index, us, host, other)
		}
		seen[net] = index
	}
}
