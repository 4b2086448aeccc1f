package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// The types of memberlist's messages, as in its net.go.
const (
	pingMsg     = 0
	ackMsg      = 2
	stateMsg    = 6
	compoundMsg = 7
	encryptMsg  = 10
	crcMsg      = 12
	errorMsg    = 13
	labelMsg    = 244
)

// single are the types in a packet. Missing are states, what is compressed, and what is
// compound, so that nothing is nested.
var single = []byte{pingMsg, 1, ackMsg, 3, 4, 5, 8, 11}

var header = append([]byte{labelMsg, byte(len(ourLabel))}, ourLabel...)

var errForeign = errors.New("not what a member sends")

// harmless reports whether a packet without encryption is one that members send. Memberlist
// checks the label.
func harmless(b []byte) bool {
	b = bytes.TrimPrefix(b, header)
	if len(b) > 5 && b[0] == crcMsg {
		b = b[5:]
	}
	if len(b) < 2 || b[0] != compoundMsg {
		return len(b) > 0 && slices.Contains(single, b[0])
	}
	lengths := b[2:min(len(b), 2+2*int(b[1]))]
	rest := b[2+len(lengths):]
	for ; len(lengths) > 1; lengths = lengths[2:] {
		n := int(binary.BigEndian.Uint16(lengths))
		if n == 0 || n > len(rest) || !slices.Contains(single, rest[0]) {
			return false
		}
		rest = rest[n:]
	}
	return true
}

// A scanner reads what memberlist writes into a stream: a byte for the type of the message,
// and then maps in MessagePack, whose values are numbers, bytes, true, false and nil. After
// an error it reads zeros.
type scanner struct {
	r   io.Reader
	err error
}

// stream reads one message.
func (s *scanner) stream(labelled, sealed bool) {
	if labelled {
		s.check(bytes.Equal(s.bytes(uint64(len(header))), header))
	}
	switch kind := s.number(1); {
	case sealed:
		s.check(kind == encryptMsg && s.number(4) <= maxStream)
	case kind == stateMsg:
		state := s.fields()
		s.check(state["Nodes"] <= maxMembers)
		for i := uint64(0); i < state["Nodes"] && s.err == nil; i++ {
			s.fields()
		}
		s.bytes(state["UserStateLen"])
	default:
		s.check(kind == pingMsg || kind == ackMsg || kind == errorMsg)
		s.fields()
	}
}

// fields reads a map, and returns its numbers. Of bytes that is their length.
func (s *scanner) fields() map[string]uint64 {
	kind := s.number(1)
	s.check(kind&0xf0 == 0x80)
	all := map[string]uint64{}
	for range kind & 0x0f {
		_, key := s.value()
		n, text := s.value()
		s.check(string(key) != "Vsn" || len(text) == 6)
		all[string(key)] = n
	}
	return all
}

// value reads a value, which is a number, or bytes and their number, or neither.
func (s *scanner) value() (n uint64, text []byte) {
	switch b := s.number(1); {
	case b < 0x80:
		return b, nil
	case b >= 0xa0 && b < 0xc0:
		n = b & 0x1f
	case b == 0xc0, b == 0xc2, b == 0xc3: // nil, false, true
	case b >= 0xcc && b < 0xd4: // with a sign or without: a negative number is out of bounds
		return s.number(1 << (b & 3)), nil
	case b == 0xc4, b == 0xd9:
		n = s.number(1)
	case b == 0xc5, b == 0xda:
		n = s.number(2)
	default:
		s.check(false)
	}
	return n, s.bytes(n)
}

// number reads a number of up to eight bytes.
func (s *scanner) number(size uint64) (n uint64) {
	for _, b := range s.bytes(size) {
		n = n<<8 | uint64(b)
	}
	return n
}

// bytes reads up to 64 KiB.
func (s *scanner) bytes(n uint64) []byte {
	s.check(n <= 1<<16)
	b := make([]byte, min(n, 1<<16))
	if s.err == nil {
		_, s.err = io.ReadFull(s.r, b)
	}
	if s.err != nil {
		clear(b)
	}
	return b
}

func (s *scanner) check(ok bool) {
	if !ok && s.err == nil {
		s.err = errForeign
	}
}
