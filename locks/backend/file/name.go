package file

import (
	"encoding/base32"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

const suffix = ".lock"

// fileName maps the name of a lock to that of its file.
func fileName(name string) string { return fileStem(name) + suffix }

// capitals is the alphabet for telling which letters of a name are capitals.
var capitals = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// fileStem is what the names of all files of a lock begin with, and what comes
// after it is one of the suffixes, which has one dot, at its start. Two different
// names never meet, not even on a file system that ignores case: letters are
// lower case, and a name that has capitals says which they were, one bit a
// letter, after a "^". "/" is a "+", ":", for Windows, a "=", and "#", as a shell
// may take it for a comment, a ",". None of the four occurs in a lock's name. At
// most 245 bytes, where most file systems take 255 with the suffix.
func fileStem(name string) string {
	file := make([]byte, len(name))
	upper := make([]byte, (len(name)+7)/8)
	last := 0 // how many bytes of upper say anything
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

// nameOf is the inverse of fileStem. It is false for what that makes of no lock's
// name.
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
