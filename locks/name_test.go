package locks_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"a", "A", "0", "nightly", "jobs/nightly", "a/b/c", "a.b", "a:b", "a@b", "a-b_c", ".a", "...", "a..", "-", ":", "@",
		strings.Repeat("x", 200), strings.Repeat("x/", 99) + "xx",
	} {
		if err := locks.CheckName(name); err != nil {
			t.Errorf("CheckName(%q): %v", name, err)
		}
	}
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "a/..", "../a", "./a", "a/../b", "a/./b",
		"a b", "a\n", "\x00", "a%2Fb", "a\\b", "a*", "a?", "a#", "ä", "a\xff", "~", "a+b", "a,b", "a=b", "a\u202eb",
		strings.Repeat("x", 201), strings.Repeat("x", 1<<20),
	} {
		err := locks.CheckName(name)
		if !errors.Is(err, locks.ErrUsage) {
			t.Errorf("CheckName(%.20q): got %v; want ErrUsage", name, err)
			continue
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) || len(err.Error()) > 500 {
			t.Errorf("CheckName(%.20q): the message is unsafe for a terminal: %q", name, err)
		}
	}
}

func FuzzEscapeName(f *testing.F) {
	f.Add("a/b", "a:b")
	f.Add("a/b", "a%2Fb")
	f.Add("A", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		if locks.CheckName(a) != nil {
			return
		}
		got := locks.EscapeName(a)
		if strings.ContainsAny(got, "/\\\x00") || got == "." || got == ".." || got == "" {
			t.Errorf("EscapeName(%q) = %q, which is not one path element", a, got)
		}
		if back, err := url.PathUnescape(got); err != nil || back != a {
			t.Errorf("EscapeName(%q) = %q, which reads back as %q, %v", a, got, back, err)
		}
		if a != b && locks.CheckName(b) == nil && got == locks.EscapeName(b) {
			t.Errorf("%q and %q both become %q", a, b, got)
		}
	})
}

func FuzzAbbreviate(f *testing.F) {
	f.Add(strings.Repeat("x", 81))
	f.Add(strings.Repeat("x", 79) + "é")
	f.Add(strings.Repeat("\x80", 100))
	f.Fuzz(func(t *testing.T, s string) {
		got := locks.Abbreviate(s)
		if len(got) > 80+len("…") {
			t.Errorf("Abbreviate(%q) has %d bytes", s, len(got))
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("Abbreviate(%q) = %q cuts through a rune", s, got)
		}
		shown := locks.RedactText(s)
		if cut, ok := strings.CutSuffix(got, "…"); got != shown && (!ok || !strings.HasPrefix(shown, cut)) {
			t.Errorf("Abbreviate(%q) = %q, which is not a prefix of %q", s, got, shown)
		}
	})
}
