package file

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// TestEntryFits uses the longest texts, in which each byte needs the longest escape.
func TestEntryFits(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "\x00", "\x7f", "\xff", "\u0085", "é", "\"", "😀"} {
		long := strings.Repeat(unit, 10_000)
		h := label.Label{Holder: long, Host: long, PID: math.MaxInt, Since: time.Now(), Version: long, RunID: long, NoResign: true, Start: locks.StartTakeover}
		e := entry{token: maxToken, reserved: maxToken, boot: strings.Repeat("b", 64), holder: encodeLabel(h)}
		m := &memory{}
		g := testLedger(m, e.boot, start)
		if err := g.write(entryBlock, e.encode()); err != nil {
			t.Fatal(err)
		}
		if got, _ := g.last(); got != e {
			t.Errorf("%q: got %+v, want %+v", unit, got, e)
		}
		if s, entered := g.status(); !entered || s.PID != math.MaxInt || s.Host == "" || s.Start != locks.StartTakeover {
			t.Errorf("%q: got %+v", unit, s)
		}
	}
}

func FuzzHolder(f *testing.F) {
	f.Add("host/1/x", "host", "v1", 1, int64(0))
	f.Add("\x00\x1b[2J\u0085\u2028\xff\"\\", "é", "", -1, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, id, host, version string, pid int, since int64) {
		h := label.Label{Holder: id, Host: host, PID: pid, Since: time.Unix(since%1e10, 0), Version: version}
		text := encodeLabel(h)
		if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
			t.Errorf("a control character at %d of %q", i, text)
		}
		var got label.Label
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		valid := func(s string, n int) string { return string([]rune(locks.Cut(s, n))) }
		want := label.Label{Holder: valid(id, 400), Host: valid(host, 100), PID: pid, Since: h.Since, Version: valid(version, 50)}
		if !got.Since.Equal(want.Since) && h.Since.Year() > 0 {
			t.Errorf("since %v, want %v", got.Since, want.Since)
		}
		got.Since, want.Since = time.Time{}, time.Time{}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// FuzzContent makes a lock file of arbitrary content. The lock may be refused, but then
// with a reason, and its tokens must rise.
func FuzzContent(f *testing.F) {
	m := &memory{}
	g := testLedger(m, "boot", start)
	if _, _, err := g.next(label.Label{Holder: "h"}); err != nil {
		f.Fatal(err)
	}
	f.Add(m.data)
	f.Add([]byte{})
	f.Add(sealBlock([]byte("18446744073709551615")))
	for _, e := range []entry{
		{token: maxToken, reserved: maxToken, boot: "boot"},
		{token: 1, reserved: maxToken, boot: "boot", holder: "{"},
		{token: 1, boot: "boot", holder: `{"pid":"x"}`},
		{token: 5, reserved: 3, boot: "boot", free: true},
	} {
		f.Add(slices.Concat(m.data[:entryBlock*blockSize], sealBlock(e.encode())))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g := testLedger(&memory{data: slices.Clone(data)}, "boot", start)
		if s, _ := g.status(); !s.Held {
			t.Errorf("status %+v", s)
		}
		before, _ := g.last()
		last := before.token
		if before.boot != "boot" {
			last = 0
		}
		for range 3 {
			e, _, err := g.next(label.Label{Holder: "h"})
			if err != nil {
				if locks.Hint(err) == "" {
					t.Errorf("%v: no hint", err)
				}
				return
			}
			if e.token <= last || e.token > e.reserved || e.reserved > maxToken {
				t.Fatalf("%+v after %d", e, last)
			}
			last = e.token
		}
	})
}

// FuzzBlock checks that a sealed text comes back, and that one changed byte is noticed.
func FuzzBlock(f *testing.F) {
	f.Add([]byte("1 2 held boot {}"), 3, byte(1))
	f.Fuzz(func(t *testing.T, text []byte, at int, change byte) {
		text = bytes.TrimRight(bytes.ReplaceAll(text, []byte("\n"), nil), " ")
		if len(text) > blockSize-18 || len(text) == 0 {
			return
		}
		b := sealBlock(text)
		if got := openBlock(b); got != string(text) {
			t.Fatalf("got %q, want %q", got, text)
		}
		if at < 0 || change == 0 {
			return
		}
		b[at%(17+len(text))] ^= change
		if got := openBlock(b); got == string(text) {
			t.Errorf("changed at %d, and still %q", at, got)
		} else if got != "" && !bytes.HasPrefix(text, []byte(got)) {
			t.Errorf("changed at %d into %q", at, got)
		}
	})
}
