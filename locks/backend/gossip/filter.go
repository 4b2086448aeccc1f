package gossip

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// A filter is a transport that drops what memberlist does not survive, and members never
// send: messages that are compressed, which end it if they are empty and expand to
// gigabytes if they are nested; streams of messages, and of members, which claim any
// length; and members with another number of versions than six.
//
// With a key, memberlist decrypts a message before it looks at anything but the length of a
// stream. So the filter checks that, and leaves the rest to the key.
type filter struct {
	memberlist.NodeAwareTransport
	sealed  bool // with a key
	packets chan *memberlist.Packet
	streams chan net.Conn
	open    chan struct{} // has room for as many streams of others as may be open
	ended   chan struct{}
	wait    sync.WaitGroup

	mu   sync.Mutex
	door net.Listener // a second address at which others find us; nil: none
}

// maxStreams is how many streams of others may be open, and maxStream how long each may be,
// in bytes: a state has some 600 for each member.
const (
	maxStreams = 64
	maxStream  = 1 << 20
)

func newFilter(t memberlist.NodeAwareTransport, sealed bool) *filter {
	f := &filter{
		NodeAwareTransport: t, sealed: sealed, packets: make(chan *memberlist.Packet), streams: make(chan net.Conn),
		open: make(chan struct{}, maxStreams), ended: make(chan struct{}),
	}
	f.wait.Go(f.pass)
	return f
}

// pass passes on what has arrived.
func (f *filter) pass() {
	for {
		select {
		case p := <-f.NodeAwareTransport.PacketCh():
			if !f.sealed && !harmless(p.Buf) {
				continue
			}
			select {
			case f.packets <- p:
			case <-f.ended:
				return
			}
		case c := <-f.NodeAwareTransport.StreamCh():
			f.admit(c)
		case <-f.ended:
			return
		}
	}
}

// admit passes on a stream that another member has opened.
func (f *filter) admit(c net.Conn) {
	select {
	case f.open <- struct{}{}:
	default:
		_ = c.Close()
		return
	}
	s := &stream{Conn: c, filter: f, opened: true}
	select {
	case f.streams <- s:
	case <-f.ended:
		_ = s.Close()
	}
}

// doorPause is the pause after a stream could not be accepted.
const doorPause = 100 * time.Millisecond

// openDoor lets others find us at one more address, over TCP.
func (f *filter) openDoor(addr netip.AddrPort) error {
	door, err := net.Listen("tcp", addr.String())
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ended:
		return door.Close()
	default:
	}
	f.door = door
	f.wait.Go(func() { f.attend(door) })
	return nil
}

// attend admits who comes to the door, until that is closed.
func (f *filter) attend(door net.Listener) {
	for {
		c, err := door.Accept()
		switch {
		case err == nil:
			f.admit(c)
		case errors.Is(err, net.ErrClosed):
			return
		default: // such as too many open files
			time.Sleep(doorPause)
		}
	}
}

func (f *filter) PacketCh() <-chan *memberlist.Packet { return f.packets }

func (f *filter) StreamCh() <-chan net.Conn { return f.streams }

func (f *filter) DialAddressTimeout(a memberlist.Address, d time.Duration) (net.Conn, error) {
	c, err := f.NodeAwareTransport.DialAddressTimeout(a, d)
	if err != nil {
		return nil, err
	}
	return &stream{Conn: c, filter: f}, nil
}

func (f *filter) Shutdown() error {
	err := f.NodeAwareTransport.Shutdown() // its listeners may wait for pass
	f.mu.Lock()
	close(f.ended)
	if f.door != nil {
		_ = f.door.Close()
	}
	f.mu.Unlock()
	f.wait.Wait()
	return err
}

// A stream is checked when it is read.
type stream struct {
	net.Conn
	filter *filter
	opened bool      // by another
	r      io.Reader // after the check
	closed sync.Once
}

func (s *stream) Read(b []byte) (int, error) {
	if s.r == nil {
		var seen bytes.Buffer
		in := bufio.NewReader(s.Conn)
		sc := &scanner{r: io.TeeReader(io.LimitReader(in, maxStream), &seen)}
		if sc.stream(s.opened, s.filter.sealed); sc.err != nil {
			return 0, sc.err
		}
		s.r = io.MultiReader(&seen, in)
	}
	return s.r.Read(b)
}

func (s *stream) Close() error {
	if s.opened {
		s.closed.Do(func() { <-s.filter.open })
	}
	return s.Conn.Close()
}
