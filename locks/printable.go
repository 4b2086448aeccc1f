package locks

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable makes a text that others wrote, such as another holder's id, safe for a
// terminal and a log: it escapes unprintable characters and cuts after 200 runes.
func Printable(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > 200 {
			b.WriteString("…")
			break
		}
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
