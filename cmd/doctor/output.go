package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
)

// A mark begins the line of a check.
type mark struct{ sign, ascii, colour string }

func markOf(l Level) mark {
	switch l {
	case OK:
		return mark{"✓", "+", "\x1b[32m"}
	case Warning:
		return mark{"!", "!", "\x1b[33m"}
	case Error:
		return mark{"✗", "x", "\x1b[31m"}
	}
	return mark{"-", "-", "\x1b[2m"}
}

// A reporter prints checks: as lines, each as soon as it is made, or as one object of JSON
// at the end.
type reporter struct {
	out      io.Writer
	progress func(string) // shows what is being done; "" removes it
	json     bool
	quiet    bool                    // print only errors
	broken   context.CancelCauseFunc // called when printing fails
	err      error
}

// isUTF8 reports whether the locale uses UTF-8. The first of its variables that is set
// decides.
func isUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

func (r *reporter) check(c Check) {
	if r.json || r.quiet && c.Level != Error {
		return
	}
	r.progress("")
	r.print(line(c, output.Colors(r.out), !isUTF8(os.Getenv)))
}

// line returns a check for people: what was found, and below it what to do.
func line(c Check, colours, ascii bool) string {
	m := markOf(c.Level)
	sign := m.sign
	if ascii {
		sign = m.ascii
	}
	if colours {
		sign = m.colour + sign + "\x1b[0m"
	}
	s := sign + " " + c.Name + ": " + c.Text + "\n"
	if c.Fix != "" {
		s += "  fix: " + c.Fix + "\n"
	}
	return s
}

// print writes to standard output. It keeps the first error.
func (r *reporter) print(s string) {
	if r.err != nil {
		return
	}
	if _, r.err = io.WriteString(r.out, s); r.err != nil {
		r.broken(r.err)
	}
}

// findings is the output of leaderrun doctor as JSON.
type findings struct {
	V       int     `json:"v"` // of this format, to which fields may be added
	Backend string  `json:"backend"`
	Status  int     `json:"status"` // the exit status
	Checks  []Check `json:"checks"`
}

// end prints the number of checks of each level, or all checks as JSON.
func (r *reporter) end(backend string, status int, checks []Check) error {
	r.progress("")
	if !r.json {
		if !r.quiet {
			r.print(sum(checks))
		}
		return r.err
	}
	var b bytes.Buffer
	if err := output.JSON(&b, findings{1, backend, status, checks}); err != nil {
		return err
	}
	r.print(b.String())
	return r.err
}

func sum(checks []Check) string {
	n := map[Level]int{}
	for _, c := range checks {
		n[c.Level]++
	}
	return fmt.Sprintf("%d ok, %d warnings, %d errors, %d skipped\n", n[OK], n[Warning], n[Error], n[Skipped])
}
