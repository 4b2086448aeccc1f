package view

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// A Style is the layout of text for people.
type Style struct {
	Color bool
	Wide  bool
	Now   time.Time // to which times are relative
}

// A cell is a text and its colour.
type cell struct {
	text  string
	paint string // the parameters of an SGR sequence, or ""
}

const (
	green  = "32"
	yellow = "33"
	red    = "31"
	faint  = "2"
	bold   = "1"
)

func plain(text string) cell { return cell{text: text} }

// Table writes one line per lock.
func (s Style) Table(w io.Writer, all []Lock) error {
	_, err := io.WriteString(w, strings.Join(s.tableLines(all), "\n")+"\n")
	return err
}

func (s Style) tableLines(all []Lock) []string {
	head := []string{"LOCK", "STATE", "HOLDER", "SINCE", "LEFT", "TOKEN", "WAITING", "LAST RUN"}
	if s.Wide {
		head = append(head, "HOST", "PID", "TTL", "START", "RUN ID")
	}
	rows := [][]cell{{}}
	for _, title := range head {
		rows[0] = append(rows[0], cell{title, bold})
	}
	for i := range all {
		rows = append(rows, s.row(&all[i]))
	}
	lines := s.align(rows)
	for i := range all {
		for _, odd := range all[i].Odd {
			lines = append(lines, s.paint(cell{locks.Printable(all[i].Name) + ": " + locks.Printable(odd), yellow}))
		}
	}
	return lines
}

func (s Style) row(l *Lock) []cell {
	row := []cell{plain(locks.Printable(l.Name)), s.state(l), plain(s.holder(l)), plain(s.since(l)), plain(left(l)), plain(number(l.Token)), plain(waiting(l)), plain(s.lastRun(l))}
	if s.Wide {
		row = append(row, plain(dash(locks.Printable(l.Host))), plain(number(uint64(l.PID))), plain(span(l.TTL)), plain(dash(locks.Printable(l.Start))), plain(dash(locks.Printable(l.RunID))))
	}
	return row
}

func (s Style) state(l *Lock) cell {
	paint := map[string]string{Held: green, Free: faint, Lapsed: yellow}
	return cell{l.Is(), paint[l.Is()]}
}

func (s Style) holder(l *Lock) string {
	if l.Held && l.Holder == "" {
		return "?"
	}
	return dash(locks.Printable(l.Holder))
}

func (s Style) since(l *Lock) string {
	switch {
	case l.Since.IsZero():
		return "-"
	case s.Wide:
		return localTime(l.Since)
	}
	return age(s.Now.Sub(l.Since))
}

func (s Style) lastRun(l *Lock) string {
	switch {
	case l.Last == nil || l.Last.At == 0:
		return "-"
	case s.Wide:
		return localTime(time.Unix(l.Last.At, 0))
	}
	return age(s.Now.Sub(time.Unix(l.Last.At, 0))) + " ago"
}

func left(l *Lock) string {
	if l.Left == 0 {
		return "-"
	}
	return l.Left.Round(100 * time.Millisecond).String()
}

func waiting(l *Lock) string {
	if l.Waiters == 0 {
		return "-"
	}
	return strconv.Itoa(l.Waiters)
}

func number(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

func span(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.String()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// align turns rows into lines, with columns as wide as their widest cell.
func (s Style) align(rows [][]cell) []string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var lines []string
	for _, row := range rows {
		var b strings.Builder
		for i, c := range row {
			b.WriteString(s.paint(c))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		lines = append(lines, b.String())
	}
	return slices.Clip(lines)
}

func (s Style) paint(c cell) string {
	if !s.Color || c.paint == "" || c.text == "" {
		return c.text
	}
	return "\x1b[" + c.paint + "m" + c.text + "\x1b[m"
}
