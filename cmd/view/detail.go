package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// Detail writes all that is known of locks, several lines each, and then in which store they are.
func (s Style) Detail(w io.Writer, all []Lock, where string) error {
	var b strings.Builder
	for i := range all {
		s.detail(&b, &all[i])
	}
	fmt.Fprintf(&b, "  %-9s %s\n", "in", where)
	_, err := io.WriteString(w, b.String())
	return err
}

// Ended says when the lease of a holder ended that has not released the lock, and whether that is
// certain.
func Ended(s locks.Status) string {
	what := "its lease has ended" // it may not be known since when
	switch {
	case s.Left > -time.Second:
	case s.Over():
		what = "its lease ended " + age(-s.Left) + " ago"
	default:
		what = "by the server's clock its lease ended " + age(-s.Left) + " ago"
	}
	if s.Over() {
		return what + "; nobody holds it"
	}
	return what + "; not yet confirmed"
}

func (s Style) detail(b *strings.Builder, l *Lock) {
	state := s.state(l)
	state.text = map[string]string{Held: "held by " + s.holder(l), Free: "free", Lapsed: Ended(l.Status) + "; it was held by " + s.holder(l)}[state.text]
	fmt.Fprintf(b, "%s: %s\n", s.paint(cell{locks.Printable(l.Name), bold}), s.paint(state))
	for _, f := range s.facts(l) {
		fmt.Fprintf(b, "  %-9s %s\n", f[0], f[1])
	}
	for i, p := range l.Queue {
		fmt.Fprintf(b, "  %9s %s\n", fmt.Sprintf("%d.", i+1), s.waiter(p))
	}
	if more := l.Waiters - len(l.Queue); more > 0 && len(l.Queue) > 0 {
		fmt.Fprintf(b, "  %9s %d more\n", "", more)
	}
	for _, d := range l.Details {
		fmt.Fprintf(b, "  %s\n", locks.Printable(d))
	}
	for _, odd := range l.Odd {
		fmt.Fprintf(b, "  %s\n", s.paint(cell{"! " + locks.Printable(odd), yellow}))
	}
}

// facts returns names and values of what is known.
func (s Style) facts(l *Lock) (all [][2]string) {
	add := func(name, value string, known bool) {
		if known {
			all = append(all, [2]string{name, value})
		}
	}
	add("host", locks.Printable(l.Host)+process(l.PID), l.Host != "")
	add("since", s.moment(l.Since)+began(l.Start), !l.Since.IsZero())
	add("token", number(l.Token), l.Token != 0)
	add("lease", s.lease(l), l.TTL != 0 || l.Left != 0)
	if at := l.Stopping; at != nil {
		add("stopping", s.stop(at), true)
	}
	add("advertise", locks.Printable(l.Advertise), l.Advertise != "")
	add("run id", locks.Printable(l.RunID), s.Wide && l.RunID != "")
	add("resign", "it was started with --no-resign", l.NoResign)
	add("waiting", waiting(l), l.Waiters > 0)
	if r := l.Last; r != nil {
		add("last run", s.run(r), true)
	}
	return all
}

// stop says how long the job may take to stop.
func (s Style) stop(at *ledger.Stopping) string {
	return fmt.Sprintf("since %s, killed at %s at the latest", s.moment(time.Unix(at.Since, 0)), s.moment(time.Unix(at.Kill, 0)))
}

func process(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(", process %d", pid)
}

func began(start string) string {
	switch start {
	case locks.StartClean:
		return ", after a release"
	case locks.StartTakeover:
		return ", by a takeover: the previous holder did not release the lock"
	}
	return ""
}

func (s Style) lease(l *Lock) string {
	switch {
	case l.Left == 0:
		return span(l.TTL)
	case -time.Second < l.Left && l.Left < 0:
		return span(l.TTL) + ", ended"
	case l.Left < 0:
		return span(l.TTL) + ", ended " + age(-l.Left) + " ago"
	}
	return span(l.TTL) + ", " + left(l) + " left"
}

func (s Style) run(r *Run) string {
	text := "schedule " + locks.Printable(r.Spec)
	if r.At > 0 {
		text = s.moment(time.Unix(r.At, 0)) + ", " + text
	}
	if r.By != "" {
		text += ", by " + locks.Printable(r.By)
	}
	if r.Token != 0 {
		text += ", token " + number(r.Token)
	}
	return text
}

func (s Style) waiter(p locks.Place) string {
	text := dash(locks.Printable(p.Holder))
	if !p.Since.IsZero() {
		text += " since " + s.moment(p.Since)
	}
	if p.Priority != 0 {
		text += fmt.Sprintf(", priority %d", p.Priority)
	}
	return text
}
