package locks_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

func TestPrintable(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"host/17/x", "host/17/x"},
		{"grüße 世界", "grüße 世界"},
		{"a\nb\tc\rd\x00", `a\nb\tc\rd\x00`},
		{"\x1b[31mred\x07\x7f", `\x1b[31mred\a\x7f`},
		{"\u0085\u009b", `\u0085\u009b`},
		{"\u202egnp.exe\u200b", `\u202egnp.exe\u200b`},
		{"bad \xff\xfe", `bad \ufffd\ufffd`},
		{strings.Repeat("é", 200), strings.Repeat("é", 200)},
		{strings.Repeat("é", 201), strings.Repeat("é", 200) + "…"},
	} {
		if got := locks.Printable(tt.in); got != tt.want {
			t.Errorf("Printable(%q) = %q; want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;x\x07\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := locks.Printable(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("Printable(%q) = %q", s, got)
		}
		if len(got) > 200*10+len("…") {
			t.Errorf("Printable of %d bytes has %d", len(s), len(got))
		}
	})
}
