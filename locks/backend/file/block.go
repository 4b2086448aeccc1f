package file

import (
	"bytes"
	"fmt"
	"hash/fnv"
)

// blockSize, in bytes, is at least the unit in which any disk writes: an interrupted
// write damages only its own block.
const blockSize = 4096

// sealBlock makes a block of one line of text: a checksum, the text, and blanks up to a
// newline, so that cat can show a lock file. The checksum detects interrupted writes and
// damage, not forgery.
func sealBlock(text []byte) []byte {
	b := bytes.Repeat([]byte(" "), blockSize)
	copy(b, fmt.Appendf(nil, "%016x %s", checksum(text), text))
	b[blockSize-1] = '\n'
	return b
}

// openBlock returns the text in a block, or "" if the block is damaged.
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

// isSealed reports whether b begins as a block does, damaged or not.
func isSealed(b []byte) bool {
	sum, _, ok := bytes.Cut(b, []byte(" "))
	return ok && len(sum) == 16 && len(bytes.Trim(sum, "0123456789abcdef")) == 0
}

// checksum returns the FNV-1a hash, which changes with any single byte and needs no
// table.
func checksum(text []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(text) // never fails
	return h.Sum64()
}
