package zookeeper_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// The numbers of requests.
const (
	opCreate          = 1
	opDelete          = 2
	opPing            = 11
	opGetChildren     = 12
	opCreateContainer = 19
)

// An interceptor is a proxy that reads ZooKeeper's packets.
type interceptor struct {
	listener net.Listener
	server   *root

	mu sync.Mutex
	// answer returns whether to pass on the answer to a request, instead of closing the
	// connection. It may change the packet.
	answer   func(op int32, packet []byte) (pass bool)
	connect  func(answer []byte) // called with the answers to connect requests
	requests map[int32]int       // how many there were, by number
	unknown  int32               // a request that the server does not know; 0: none
	keep     bool                // keep a client's connection when the server closes its own
	open     int                 // the number of connections of clients
	held     []net.Conn
	ended    bool
}

// intercept starts a proxy to a server. At first it passes on everything.
func intercept(t testing.TB, s *root) *interceptor {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &interceptor{listener: l, server: s, requests: map[int32]int{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				m.opened(1)
				defer m.opened(-1)
				m.serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		m.mu.Lock()
		m.ended = true
		for _, c := range m.held {
			_ = c.Close()
		}
		m.mu.Unlock()
		wg.Wait()
	})
	return m
}

func (m *interceptor) url() string { return m.server.through(m.listener.Addr().String()) }

// connects sets the function that is called with the answers to connect requests.
func (m *interceptor) connects(f func(answer []byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.connect = f
}

// lacks sets a request that the server does not know.
func (m *interceptor) lacks(op int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unknown = op
}

// answers sets the function that decides about answers.
func (m *interceptor) answers(f func(op int32, packet []byte) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = f
}

// keeps keeps clients' connections open when the server closes its own.
func (m *interceptor) keeps() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep = true
}

// connections returns the number of open connections of clients.
func (m *interceptor) connections() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open
}

// count returns the number of requests of a kind.
func (m *interceptor) count(op int32) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[op]
}

func (m *interceptor) opened(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open += n
}

func (m *interceptor) hold(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = append(m.held, c)
	return !m.ended
}

func (m *interceptor) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", m.server.Addr())
	if err != nil {
		return
	}
	defer server.Close()
	if !m.hold(client) || !m.hold(server) {
		return
	}
	var mu sync.Mutex
	asked := map[int32]int32{} // the number of each request, by xid
	var wg sync.WaitGroup
	wg.Go(func() {
		defer server.Close()
		for first := true; ; first = false {
			p, err := readPacket(client)
			if err != nil {
				return
			}
			if !first && len(p) >= 12 {
				op := int32(binary.BigEndian.Uint32(p[8:]))
				mu.Lock()
				asked[int32(binary.BigEndian.Uint32(p[4:]))] = op
				mu.Unlock()
				m.mu.Lock()
				m.requests[op]++
				unknown := op == m.unknown
				m.mu.Unlock()
				if unknown { // as UnimplementedRequestProcessor does
					_, _ = client.Write(unimplemented(p))
					return
				}
			}
			if _, err := server.Write(p); err != nil {
				return
			}
		}
	})
	defer wg.Wait()
	defer client.Close()
	for first := true; ; first = false {
		p, err := readPacket(server)
		m.mu.Lock()
		connect, keep := m.connect, m.keep
		m.mu.Unlock()
		if err != nil {
			if keep {
				wg.Wait() // until the client closes it
			}
			return
		}
		if first && connect != nil {
			connect(p)
		}
		mu.Lock()
		op, known := asked[int32(binary.BigEndian.Uint32(p[4:]))]
		mu.Unlock()
		if !first && known {
			m.mu.Lock()
			f := m.answer
			m.mu.Unlock()
			if f != nil && !f(op, p) {
				return
			}
		}
		if _, err := client.Write(p); err != nil {
			return
		}
	}
}

// unimplemented answers a request with the error -6.
func unimplemented(request []byte) []byte {
	p := make([]byte, 20)
	p[3] = 16
	copy(p[4:], request[4:8])
	binary.BigEndian.PutUint32(p[16:], 1<<32-6)
	return p
}

func readPacket(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	p := append(head[:], make([]byte, binary.BigEndian.Uint32(head[:]))...)
	_, err := io.ReadFull(r, p[4:])
	return p, err
}
