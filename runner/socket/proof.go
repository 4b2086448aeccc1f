package socket

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// nonceSize is the length of what a client sends, in bytes.
const nonceSize = 16

// prove returns a line with the proof that who wrote it has the key.
func prove(key, nonce, line []byte) []byte {
	return append(hex.AppendEncode(nil, mac(key, nonce, line)), append([]byte{' '}, line...)...)
}

// verify returns the line in a result of prove, and whether the proof is right. If there is no
// proof, it returns everything.
func verify(key, nonce, proven []byte) (line []byte, ok bool) {
	proof, line, found := bytes.Cut(proven, []byte{' '})
	if !found {
		return proven, false
	}
	got, err := hex.DecodeString(string(proof))
	return line, err == nil && hmac.Equal(got, mac(key, nonce, line))
}

// mac returns a MAC of a nonce, whose length is fixed, and a line.
func mac(key, nonce, line []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write(nonce)
	_, _ = h.Write(line)
	return h.Sum(nil)
}
