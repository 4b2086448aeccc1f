package file

import (
	"encoding/base32"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

const suffix = ".lock"

// fileName returns the name of a lock's file.
func fileName(name string) string { return fileStem(name) + suffix }

// capitals is the alphabet that encodes which letters of a name are capitals.
var capitals = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// fileStem returns the beginning of the names of all files of a lock. One of the suffixes
// follows, which has one dot, at its start. Different names never collide, not even on a
// file system that ignores case: letters are lower case, and after a "^" a name with
// capitals encodes which letters they were, one bit per letter. "/" becomes "+"; ":"
// becomes "=", because FAT has no ":"; "#" becomes ",", because a shell may take it for a
// comment. None of these four occurs in a lock's name. The stem has at most 245 bytes; most
// file systems allow 255 with the suffix.
func fileStem(name string) string {
	file := make([]byte, len(name))
	upper := make([]byte, (len(name)+7)/8)
	last := 0 // how many bytes of upper are needed
	for i, c := range []byte(name) {
		switch {
		case c == '/':
			c = '+'
		case c == ':':
			c = '='
		case c == '#':
			c = ','
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
			upper[i/8] |= 0x80 >> (i % 8)
			last = i/8 + 1
		}
		file[i] = c
	}
	if last == 0 {
		return string(file)
	}
	return string(file) + "^" + capitals.EncodeToString(upper[:last])
}

// nameOf is the inverse of fileStem. It returns false for anything else.
func nameOf(stem string) (string, bool) {
	base, code, _ := strings.Cut(stem, "^")
	upper, err := capitals.DecodeString(code)
	if err != nil {
		return "", false
	}
	name := []byte(base)
	for i, c := range name {
		switch {
		case c == '+':
			c = '/'
		case c == '=':
			c = ':'
		case c == ',':
			c = '#'
		case i/8 < len(upper) && upper[i/8]&(0x80>>(i%8)) != 0:
			c -= 'a' - 'A'
		}
		name[i] = c
	}
	s := string(name)
	return s, locks.CheckSlotName(s) == nil && fileStem(s) == stem
}
