package view

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// drawn returns the lines that a board of a size shows, and all that it wrote.
func drawn(columns, rows int, all []Lock, trouble error) (lines []string, raw string) {
	var out bytes.Buffer
	b := &Board{Out: &out, Title: "leaderrun watch", Size: func() (int, int) { return columns, rows }, Style: Style{Color: true}}
	b.Draw(all, trouble, now)
	raw = out.String()
	text := strings.TrimSuffix(strings.TrimPrefix(raw, home), clearBelow)
	for _, paint := range []string{green, yellow, red, faint, bold} {
		text = strings.ReplaceAll(text, "\x1b["+paint+"m", "")
	}
	text = strings.ReplaceAll(text, "\x1b[m", "")
	for _, line := range strings.Split(text, "\r\n") {
		lines = append(lines, strings.TrimSuffix(line, clearLine))
	}
	return lines, raw
}

// TestBoardFits: a picture is never larger than the terminal, which would scroll otherwise.
func TestBoardFits(t *testing.T) {
	t.Parallel()
	var many []Lock
	for i := range 50 {
		many = append(many, held(fmt.Sprintf("a lock with a long name, number %d", i), "holder", uint64(i)))
	}
	for _, size := range [][2]int{{80, 24}, {10, 3}, {1, 1}, {200, 100}} {
		lines, raw := drawn(size[0], size[1], many, errors.New("down"))
		if len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > size[0] {
				t.Errorf("%v: a line of %d columns: %q", size, n, line)
			}
		}
		if strings.Contains(raw, "\x1b[2J") {
			t.Error("the screen is cleared before it is drawn, which flickers")
		}
	}
	lines, _ := drawn(80, 24, many, nil)
	if got, want := lines[23], "… 30 lines more"; got != want {
		t.Errorf("the last line is %q; want %q", got, want)
	}
}

func TestBoardTells(t *testing.T) {
	t.Parallel()
	lines, _ := drawn(200, 24, sample(), errors.New("no answer"))
	if !strings.HasPrefix(lines[0], "leaderrun watch   3 locks, 1 held   ") {
		t.Errorf("the first line is %q", lines[0])
	}
	if !strings.Contains(lines[1], "no answer") {
		t.Errorf("the second line is %q; want the trouble", lines[1])
	}
	if !strings.Contains(lines[3], "web1/17/ab  3m ") {
		t.Errorf("a lock is %q", lines[3])
	}
}
