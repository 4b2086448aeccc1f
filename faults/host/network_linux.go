package host

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A network is a namespace and the veth pair that leads into it. In the namespace
// the end of the pair is called eth0.
//
// Each end has a permanent entry for the other's hardware address, so that nobody asks
// for it: an unanswered question would become an error for the sender.
type network struct {
	thread   *thread // in the namespace
	link     string  // the end outside
	us, host netip.Addr
	alias    netip.Addr // another one of ours
}

// The hardware addresses of the two ends of every pair, and one that nobody has. Each
// pair is a separate network, so all pairs may use the same addresses.
const (
	ourMAC  = "02:00:00:00:00:01"
	hostMAC = "02:00:00:00:00:02"
	nowhere = "02:00:00:00:00:03"
)

// linkPrefix begins the names of links, which have 15 bytes at most.
const linkPrefix = "lr-"

// Kind is what a host's network is.
type Kind string

// The kinds of networks.
const (
	Namespace Kind = "namespace" // packets can be lost
	Proxied   Kind = "proxied"   // only what proxies do is possible
)

// Network says what the host's network is.
func (h *Host) Network() Kind {
	if h.network == nil {
		return Proxied
	}
	return Namespace
}

func (h *Host) addNetwork(proxied bool) {
	h.tb.Helper()
	_, err := exec.LookPath("ip")
	if proxied {
		err = errors.New("only proxies are asked for")
	}
	if err == nil {
		err = h.thread.do(func() error { return os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNET)) })
	}
	if err != nil {
		h.lack(Network, err)
		return
	}
	n := &network{thread: h.thread, link: linkPrefix + h.name[strings.LastIndexByte(h.name, '-')+1:]}
	if err := n.connect(); err != nil {
		h.tb.Fatalf("make a network: %v", err) // there would be no way to a server
	}
	h.network = n
	h.tb.Cleanup(func() {
		// The kernel also does so, but only some time after the namespace has ended.
		if err := ip("link del " + n.link); err != nil {
			h.tb.Error(err)
		}
	})
}

// connect makes the pair, and gives it addresses. A namespace is named by the id of a
// thread that is in it.
func (n *network) connect() error {
	tid := 0
	_ = n.thread.do(func() error { tid = unix.Gettid(); return nil })
	if err := ip(fmt.Sprintf("link add %s address %s type veth peer name eth0 address %s netns %d", n.link, ourMAC, hostMAC, tid)); err != nil {
		return err
	}
	link, err := net.InterfaceByName(n.link)
	if err != nil {
		return err
	}
	base, err := freeRange()
	if err != nil {
		return err
	}
	n.us, n.host, n.alias = pairOf(base, link.Index)
	if err := ip(
		"link set "+n.link+" addrgenmode none",
		fmt.Sprintf("addr add %s/29 dev %s", n.us, n.link),
		fmt.Sprintf("addr add %s/29 dev %s", n.alias, n.link),
		"link set "+n.link+" up",
		n.neighbour(n.host, n.link, hostMAC),
	); err != nil {
		return err
	}
	return n.thread.do(func() error {
		return ip(
			"link set lo up",
			"link set eth0 addrgenmode none",
			fmt.Sprintf("addr add %s/29 dev eth0", n.host),
			"link set eth0 up",
			n.neighbour(n.us, "eth0", ourMAC),
			n.neighbour(n.alias, "eth0", ourMAC),
		)
	})
}

// Place is where a server runs in the host's network.
func (h *Host) Place() realserver.Place {
	tid := 0
	_ = h.thread.do(func() error { tid = unix.Gettid(); return nil })
	return realserver.Place{IP: h.Address(), Enter: []string{"nsenter", fmt.Sprintf("--net=/proc/%d/task/%d/ns/net", os.Getpid(), tid), "--"}}
}

// route makes other hosts reachable by way of this machine. What they send passes both pairs,
// and is lost with the rest.
func (n *network) route() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+n.link+"/forwarding", []byte("1"), 0); err != nil {
		return err
	}
	return n.thread.do(func() error { return ip(fmt.Sprintf("route add default via %s", n.us)) })
}

// pairOf derives the addresses of a pair from its index. The kernel counts links and
// does not reuse a number for long, so processes need not agree who takes which.
func pairOf(base netip.Prefix, index int) (us, host, alias netip.Addr) {
	a := base.Addr().As4()
	block := uint32(index) % (1 << 19) * 8
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | block
	at := func(n uint32) netip.Addr {
		return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	return at(n + 1), at(n + 2), at(n + 3)
}

// freeRange is a private range of 2^19 blocks of eight addresses, in which no link of
// this machine has an address, except those of hosts.
func freeRange() (netip.Prefix, error) {
	links, err := net.Interfaces()
	if err != nil {
		return netip.Prefix{}, err
	}
	var taken []netip.Prefix
	for _, l := range links {
		addrs, err := l.Addrs()
		if err != nil || strings.HasPrefix(l.Name, linkPrefix) {
			continue // it is gone, or a host's
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				taken = append(taken, p.Masked())
			}
		}
	}
	for _, first := range []byte{64, 128, 192, 0} {
		base := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, first, 0, 0}), 10)
		free := true
		for _, p := range taken {
			free = free && !base.Overlaps(p)
		}
		if free {
			return base, nil
		}
	}
	return netip.Prefix{}, errors.New("no range of 10.0.0.0/8 is free")
}

func (n *network) neighbour(a netip.Addr, dev, mac string) string {
	return fmt.Sprintf("neigh replace %s lladdr %s nud permanent dev %s", a, mac, dev)
}

// requests sends what the host sends to a hardware address.
func (n *network) requests(mac string) error {
	return n.thread.do(func() error { return ip(n.neighbour(n.us, "eth0", mac), n.neighbour(n.alias, "eth0", mac)) })
}

// replies sends what the host is sent to a hardware address.
func (n *network) replies(mac string) error { return ip(n.neighbour(n.host, n.link, mac)) }

// ip runs commands of ip(8), in the namespace of the calling thread.
func ip(commands ...string) error {
	c := exec.Command("ip", "-batch", "-")
	c.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w: %s", commands, err, bytes.TrimSpace(out))
	}
	return nil
}
