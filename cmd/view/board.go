package view

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// A Board shows all locks on a terminal. It writes each picture in one piece over the
// previous one, so that nothing flickers.
type Board struct {
	Out   io.Writer
	Title string
	Size  func() (columns, rows int)
	Style Style
}

const (
	// The alternate screen, without a cursor. Lines that are too long are cut off, because a
	// character may be wider than clip assumes.
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// Enter switches to the alternate screen.
func (b *Board) Enter() { _, _ = io.WriteString(b.Out, enterScreen) }

// Leave switches back to the screen as it was.
func (b *Board) Leave() { _, _ = io.WriteString(b.Out, leaveScreen) }

// Draw shows the locks as they are at the given time. trouble is the error because of which
// they are not current, or nil.
func (b *Board) Draw(all []Lock, trouble error, now time.Time) {
	b.Style.Now = now
	columns, rows := b.Size()
	lines := b.lines(all, trouble, rows)
	var out strings.Builder
	out.WriteString(home)
	for i, line := range lines {
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(clip(line, columns) + clearLine)
	}
	out.WriteString(clearBelow)
	_, _ = io.WriteString(b.Out, out.String())
}

// lines returns the lines of the picture, no more than the screen has rows.
func (b *Board) lines(all []Lock, trouble error, rows int) []string {
	held := 0
	for i := range all {
		if all[i].Held && !all[i].Over() {
			held++
		}
	}
	lines := []string{
		fmt.Sprintf("%s   %d locks, %d held   %s", b.Title, len(all), held, b.Style.Now.Local().Format("15:04:05")),
		"",
	}
	if trouble != nil {
		lines[1] = b.Style.paint(cell{"not current: " + locks.Printable(trouble.Error()), red})
	}
	lines = append(lines, b.Style.tableLines(all)...)
	if rows > 0 && len(lines) > rows {
		more := len(lines) - rows + 1
		lines = append(lines[:max(rows-1, 0)], fmt.Sprintf("… %d lines more", more))
	}
	return lines
}

// clip returns the part of a line that fits into the columns. Colours take up no columns.
func clip(line string, columns int) string {
	if columns <= 0 {
		return line
	}
	var b strings.Builder
	for used := 0; line != ""; {
		if end := strings.IndexByte(line, 'm'); line[0] == '\x1b' && end > 0 {
			b.WriteString(line[:end+1])
			line = line[end+1:]
			continue
		}
		_, size := utf8.DecodeRuneInString(line)
		if used++; used <= columns {
			b.WriteString(line[:size])
		}
		line = line[size:]
	}
	return b.String()
}
