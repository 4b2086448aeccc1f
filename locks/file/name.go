package file

import "encoding/base32"

const suffix = ".lock"

// capitals is the alphabet for telling which letters of a name are capitals.
var capitals = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// fileName maps the name of a lock to that of its file. Two different names
// never meet, not even on a file system that ignores case: letters are lower
// case, and a name that has capitals says which they were, one bit a letter,
// after a "^". "/" is a "+", and ":", for Windows, a "=". None of the three
// occurs in a lock's name. At most 246 bytes, where most file systems take 255.
func fileName(name string) string {
	file := make([]byte, len(name))
	upper := make([]byte, (len(name)+7)/8)
	last := 0 // how many bytes of upper say anything
	for i, c := range []byte(name) {
		switch {
		case c == '/':
			c = '+'
		case c == ':':
			c = '='
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
			upper[i/8] |= 0x80 >> (i % 8)
			last = i/8 + 1
		}
		file[i] = c
	}
	if last == 0 {
		return string(file) + suffix
	}
	return string(file) + "^" + capitals.EncodeToString(upper[:last]) + suffix
}
