package docs

import (
	"regexp"
	"strings"
	"testing"
)

// varying are the things that may differ in output; the first that matches counts. Each
// is a pattern of how a file shows it, and one of what may be printed instead.
var varying = []struct{ written, printed *regexp.Regexp }{
	same(`\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d([.]\d+)?)?)?`),
	same(`\d\d:\d\d:\d\d([.]\d+)?`),
	same(`/\d+/[0-9a-f]{6,}`), // the holder's process and random id
	same(`[0-9a-f]{12,}`),
	{regexp.MustCompile(`\b(\d+[hm])*(\d+[.]\d+s|\d+([.]\d+)?(ms|µs))`), regexp.MustCompile(`(\d+[hm])*\d+([.]\d+)?(s|ms|µs|ns)`)},
	{regexp.MustCompile(`\d{4,}`), regexp.MustCompile(`\d+`)},
	{regexp.MustCompile(`…`), regexp.MustCompile(`.*`)},
	{regexp.MustCompile(` {2,}`), regexp.MustCompile(` +`)},
}

func same(pattern string) struct{ written, printed *regexp.Regexp } {
	re := regexp.MustCompile(pattern)
	return struct{ written, printed *regexp.Regexp }{re, re}
}

// expect returns a pattern for all output of a command.
func expect(lines []string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for _, l := range lines {
		if l == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		for l != "" {
			n, pattern := first(l)
			b.WriteString(pattern)
			l = l[n:]
		}
		b.WriteString(` *\n`)
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

// first returns a pattern for the beginning of a line, and the length of that beginning.
func first(l string) (int, string) {
	for _, v := range varying {
		if at := v.written.FindStringIndex(l); at != nil && at[0] == 0 {
			return at[1], "(?:" + v.printed.String() + ")"
		}
	}
	for i := range l {
		if i > 0 {
			return i, regexp.QuoteMeta(l[:i])
		}
	}
	return len(l), regexp.QuoteMeta(l)
}

func TestExpect(t *testing.T) {
	t.Parallel()
	const status = "web   held   web1/4711/c0ffee12   11.2s   2026-11-21 20:31:05 UTC"
	for _, tt := range []struct {
		written, printed string
		want             bool
	}{
		{"", "", true},
		{"exit status 75", "exit status 75\n", true},
		{"exit status 75", "exit status 76\n", false},
		{"exit status 75", "exit status 75\nmore\n", false},
		{"a\nb", "a\n", false},
		{"a\n…\nb", "a\nb\n", true},
		{"a\n…\nb", "a\n1\n2\nb\n", true},
		{"a … c", "a b c\n", true},
		{"token 1042", "token 7\n", true},
		{"2 waiting", "3 waiting\n", false},
		{"3m ago", "4m ago\n", false},
		{"took 2.1ms", "took 31ms\n", true},
		{"took 2.1ms", "took 2s\n", true},
		{"took 2.1ms", "took long\n", false},
		{"a ttl of 15s", "a ttl of 16s\n", false},
		{status, "web held web1/12/0123456789ab 9.8s 2027-01-02 00:00:00 UTC\n", true},
		{status, "web held web2/12/0123456789ab 9.8s 2027-01-02 00:00:00 UTC\n", false},
		{status, "web free web1/12/0123456789ab 9.8s 2027-01-02 00:00:00 UTC\n", false},
	} {
		var lines []string
		if tt.written != "" {
			lines = strings.Split(tt.written, "\n")
		}
		if got := expect(lines).MatchString(tt.printed); got != tt.want {
			t.Errorf("%q, printed %q: got %v, want %v", tt.written, tt.printed, got, tt.want)
		}
	}
}
