package locks

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxName is the greatest length of a lock's name, in bytes.
const MaxName = 200

// MaxSlot is the greatest number of a slot.
const MaxSlot = 64

// SlotName returns the name of the lock on one slot of a lock with slots: "jobs#3". Slots
// count from 1. Number 0 is the lock that protects the assignment of slots.
func SlotName(name string, number int) string { return fmt.Sprintf("%s#%d", name, number) }

// CutSlot splits a name that SlotName made. The number is -1 for any other name.
func CutSlot(name string) (base string, number int) {
	base, digits, ok := strings.Cut(name, "#")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > MaxSlot || strconv.Itoa(n) != digits {
		return name, -1
	}
	return base, n
}

// CheckSlotName is like CheckName, but also accepts a name that SlotName made.
func CheckSlotName(name string) error {
	base, _ := CutSlot(name)
	return CheckName(base)
}

// CheckName returns an ErrUsage unless name is valid: it has 1 to [MaxName] characters of
// A-Z a-z 0-9 . _ - / : @, and no empty, "." or ".." part between slashes.
func CheckName(name string) error {
	usage := func(format string, args ...any) error {
		return &UsageError{What: "lock name " + strconv.Quote(Abbreviate(name)) + ": " + fmt.Sprintf(format, args...)}
	}
	switch {
	case name == "":
		return usage("is empty")
	case len(name) > MaxName:
		return usage("has %d characters; at most %d are allowed", len(name), MaxName)
	}
	for _, r := range name {
		if !nameRune(r) {
			return usage("contains %q; allowed are A-Z a-z 0-9 . _ - / : @", r)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return usage("has the part %q between slashes", part)
		}
	}
	return nil
}

func nameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-/:@", r)
}

// EscapeName maps a lock's name to one path element: "/" becomes "%2F". Different names
// stay different, because no name contains a "%".
func EscapeName(name string) string { return url.PathEscape(name) }

// Abbreviate prepares a text that somebody has written for a message: it redacts the text,
// as RedactText does, and cuts it between two runes if it has over 80 bytes.
func Abbreviate(s string) string {
	s = RedactText(s)
	if short := Cut(s, 80); short != s {
		return short + "…"
	}
	return s
}

// Cut returns a text of at most n bytes as it is, and the first of a longer one, up to n
// bytes, cut between two runes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > n-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
