package zookeeper_test

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"sync"
)

// names is the tests' name server. The addresses of real names do not change.
var names nameServer

// A nameServer answers as RFC 1035 says, with IPv4 addresses.
type nameServer struct {
	mu    sync.Mutex
	known map[string][]string // the addresses of each name; nil: looking it up fails
}

// set sets the addresses of a name.
func (n *nameServer) set(name string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string][]string{}
	}
	n.known[name] = addrs
}

// fail makes looking up a name fail.
func (n *nameServer) fail(name string) { n.set(name) }

// resolver starts the server, which ends with the process.
func (n *nameServer) resolver() *net.Resolver {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		question := make([]byte, 512)
		for {
			size, from, err := c.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(n.answer(question[:size]), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

func (n *nameServer) answer(question []byte) []byte {
	const header, typeA, failure, noName = 12, 1, 2, 3
	var labels []string
	at := header
	for question[at] > 0 {
		next := at + 1 + int(question[at])
		labels, at = append(labels, string(question[at+1:next])), next
	}
	kind, end := binary.BigEndian.Uint16(question[at+1:]), at+5
	n.mu.Lock()
	addrs, known := n.known[strings.Join(labels, ".")]
	n.mu.Unlock()
	code := 0
	switch {
	case !known:
		code = noName
	case len(addrs) == 0:
		code = failure
	case kind != typeA:
		addrs = nil
	}
	b := append(question[:2:2], 0x81, byte(0x80|code), 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0) // an answer, recursive
	b = append(b, question[header:end]...)
	for _, addr := range addrs {
		b = append(b, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, net.IPv4len) // the requested name, valid for 0 s
		b = append(b, net.ParseIP(addr).To4()...)
	}
	return b
}
