package file

import (
	"bytes"
	"fmt"
	"hash/fnv"
)

// blockSize, in bytes, is at least the unit in which any disk writes: a write
// that is cut short damages no other block than its own.
const blockSize = 4096

// sealBlock makes a block of one line of text: a checksum, the text, and blanks
// up to a newline, so that a lock file can be looked at with cat. The checksum
// guards against what is torn or damaged, not against what is forged.
func sealBlock(text []byte) []byte {
	b := bytes.Repeat([]byte(" "), blockSize)
	copy(b, fmt.Appendf(nil, "%016x %s", checksum(text), text))
	b[blockSize-1] = '\n'
	return b
}

// openBlock returns the text in a block, or "" if it is not as it was written.
func openBlock(b []byte) string {
	if len(b) != blockSize {
		return ""
	}
	sum, text, _ := bytes.Cut(bytes.TrimRight(b, " \n"), []byte(" "))
	if string(sum) != fmt.Sprintf("%016x", checksum(text)) {
		return ""
	}
	return string(text)
}

// checksum is FNV-1a, which any change of a single byte changes, and which needs
// no table to be built.
func checksum(text []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(text) // never fails
	return h.Sum64()
}
