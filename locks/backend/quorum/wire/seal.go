package wire

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// Version is the first byte of what is sent. Another version means another format, or another
// rule: voters are upgraded first.
const Version = 1

// A sealed packet begins with the version, the sender's salt and the number of the packet.
const (
	saltSize = 16
	headSize = 1 + saltSize + 8
	overhead = headSize + 16 // with the tag
)

// Why a packet is not opened.
var (
	ErrVersion = errors.New("it is of another version")
	ErrKey     = errors.New("it was not sealed with one of our keys")
)

// maxSenders is how many senders' derived keys are kept.
const maxSenders = 1024

// A Sealer encrypts and authenticates packets, with AES-256-GCM. Each process derives a key of its
// own from the secret, by HKDF-SHA256 with a random salt, and numbers its packets. Random nonces
// under the shared key would be used up after 2^32 packets. Its methods may be called
// concurrently.
type Sealer struct {
	keys func() [][]byte
	salt [saltSize]byte
	sent atomic.Uint64

	versions, strangers atomic.Uint64 // packets that were not opened

	mu      sync.Mutex
	own     sender
	senders map[[saltSize]byte]sender
}

// A sender is a derived key.
type sender struct {
	secret []byte
	aead   cipher.AEAD
}

// NewSealer returns the Sealer of a process. Of the keys, which may be others each time, the first
// one seals, and all open. Without keys, packets are neither secret nor authentic.
func NewSealer(keys func() [][]byte) *Sealer {
	s := &Sealer{keys: keys, senders: map[[saltSize]byte]sender{}}
	_, _ = rand.Read(s.salt[:]) // it never fails
	return s
}

// Keys parses a file with keys: 16 to 64 bytes in base64, one a line.
func Keys(file []byte) (keys [][]byte, err error) {
	for line := range bytes.Lines(file) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.AppendDecode(nil, line)
		if err != nil || len(key) < 16 || len(key) > 64 {
			return nil, errors.New("a line is not 16 to 64 bytes in base64, as of: head -c 32 /dev/urandom | base64")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > 8 {
		return nil, errors.New("no key, or more than 8")
	}
	return keys, nil
}

func (s *Sealer) secrets() [][]byte {
	if s.keys == nil {
		return [][]byte{nil}
	}
	if keys := s.keys(); len(keys) > 0 {
		return keys
	}
	return [][]byte{nil}
}

func derive(secret []byte, salt []byte) sender {
	key, err := hkdf.Key(sha256.New, secret, salt, "leaderrun quorum", 32)
	if err != nil {
		panic(err) // only if the length were wrong
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return sender{secret, aead}
}

// Seal returns a packet.
func (s *Sealer) Seal(plain []byte) []byte {
	secret := s.secrets()[0]
	s.mu.Lock()
	if s.own.aead == nil || !bytes.Equal(s.own.secret, secret) {
		s.own = derive(secret, s.salt[:])
	}
	own := s.own
	s.mu.Unlock()
	packet := make([]byte, headSize, overhead+len(plain))
	packet[0] = Version
	copy(packet[1:], s.salt[:])
	n := s.sent.Add(1)
	binary.BigEndian.PutUint64(packet[1+saltSize:], n)
	return own.aead.Seal(packet, nonce(packet), plain, packet)
}

// nonce returns the nonce of a packet, which is the packet's number.
func nonce(packet []byte) []byte {
	return append(make([]byte, 4, 12), packet[1+saltSize:headSize]...)
}

// Open returns what was sealed. What it returns may be a lie of somebody who has the key, and it
// may have been sent before.
func (s *Sealer) Open(packet []byte) ([]byte, error) {
	if len(packet) < overhead || packet[0] != Version {
		s.versions.Add(1)
		return nil, ErrVersion
	}
	salt, secrets := [saltSize]byte(packet[1:1+saltSize]), s.secrets()
	s.mu.Lock()
	known, ok := s.senders[salt]
	s.mu.Unlock()
	if ok && slices.ContainsFunc(secrets, func(k []byte) bool { return bytes.Equal(k, known.secret) }) {
		if plain, err := known.open(packet); err == nil {
			return plain, nil
		}
	}
	for _, secret := range secrets {
		from := derive(secret, salt[:])
		if plain, err := from.open(packet); err == nil {
			s.remember(salt, from)
			return plain, nil
		}
	}
	s.strangers.Add(1)
	return nil, ErrKey
}

func (from sender) open(packet []byte) ([]byte, error) {
	return from.aead.Open(nil, nonce(packet), packet[headSize:], packet[:headSize])
}

// remember keeps a derived key, instead of any other if there are too many.
func (s *Sealer) remember(salt [saltSize]byte, from sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.senders {
		if len(s.senders) < maxSenders {
			break
		}
		delete(s.senders, other)
	}
	s.senders[salt] = from
}

// Refused returns how many packets were not opened, because of their version, and because of
// their key.
func (s *Sealer) Refused() (versions, strangers uint64) {
	return s.versions.Load(), s.strangers.Load()
}
