package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

const (
	// expirySoon is how long before the end of a certificate we warn.
	expirySoon = 14 * 24 * time.Hour
	// clockApart is by how much a server's clock may differ from ours. Leases do not depend
	// on it, but the window of --once-per that a run is in does, and so do times in logs.
	clockApart = 5 * time.Second
)

// servers queries each server.
func (e *exam) servers(ctx context.Context) []Check {
	asked, cancel := e.bounded(ctx)
	defer cancel()
	s, err := e.observer.Lock.(locks.Prober).Probe(asked)
	if err != nil {
		e.stop("no server could be queried")
		return []Check{failed("servers", err)}
	}
	return e.judge(ctx, s)
}

// judge turns the result of a probe into checks.
func (e *exam) judge(ctx context.Context, s locks.Servers) []Check {
	var checks []Check
	dead, hint := e.dead(ctx, s.Servers)
	for _, server := range s.Servers {
		if server.Error != "" {
			checks = append(checks, silent(server, hint, !dead))
			continue
		}
		checks = append(checks, e.serverCheck(s.Product, server))
	}
	if e.broken != "" {
		return checks // no server has answered
	}
	if s.User != "" {
		checks = append(checks, ok("user", figures{"user": locks.Printable(s.User)}, "%s", locks.Printable(s.User)))
	}
	for _, f := range s.Findings {
		checks = append(checks, finding(f))
	}
	return checks
}

// dead reports whether no server can be reached, and if so has all checks skipped that need
// one. If no server has answered, it also returns a hint. A server that only refuses to
// report on itself may still keep locks for us: later checks try that.
func (e *exam) dead(ctx context.Context, all []locks.Server) (dead bool, hint string) {
	answers := slices.ContainsFunc(all, func(s locks.Server) bool { return s.Error == "" })
	unclear := slices.ContainsFunc(all, func(s locks.Server) bool { return s.Class != "unavailable" })
	if answers || len(all) == 0 {
		return false, ""
	}
	if !unclear {
		e.stop("no server answers")
	}
	return !unclear, e.hint(ctx)
}

// hint makes a normal request to the backend, because its error has a hint, which a probe
// has not.
func (e *exam) hint(ctx context.Context) string {
	i, ok := e.observer.Lock.(locks.Inspector)
	if !ok {
		return ""
	}
	ctx, cancel := e.request(ctx)
	defer cancel()
	_, err := i.Inspect(ctx)
	return locks.Hint(err)
}

// silent returns the check of a server that has not reported on itself. If others answer,
// locks work without it.
func silent(s locks.Server, hint string, others bool) Check {
	class := map[string]error{"denied": locks.ErrDenied, "unavailable": locks.ErrUnavailable}[s.Class]
	c := Check{Name: "server", Level: Error, Fix: hint, class: class, Figures: figures{"address": locks.Printable(s.Address)}}
	c.Text = locks.Printable(s.Address) + ": " + escape(s.Error)
	if c.Fix == "" && class != nil {
		c.Fix = remedy(class)
	}
	switch {
	case s.Class != "unavailable":
		c.Level = Warning
		c.Text += "; its release and state were not checked; whether it can keep locks is tested below"
	case others:
		c.Level = Warning
		c.Text += "; another server answers"
	}
	return c
}

// serverCheck returns the check of a server that has answered.
func (e *exam) serverCheck(product string, s locks.Server) Check {
	c := Check{Name: "server", Level: OK, Figures: figures{"address": locks.Printable(s.Address)}}
	text := []string{strings.TrimSpace(locks.Printable(product) + " " + locks.Printable(s.Version))}
	if s.Version != "" {
		c.Figures["version"] = locks.Printable(s.Version)
	}
	if s.Role != "" {
		text = append(text, locks.Printable(s.Role))
		c.Figures["role"] = locks.Printable(s.Role)
	}
	if s.RTT > 0 {
		text = append(text, "answers in "+show(s.RTT))
		c.Figures["rtt_ns"] = s.RTT
	}
	if !e.permanent { // otherwise it is a file system
		text = append(text, c.encryption(s))
	}
	text = append(text, c.clocks(s))
	c.Text = locks.Printable(s.Address) + ": " + strings.Join(compact(text), ", ")
	return c
}

func compact(text []string) []string {
	var some []string
	for _, t := range text {
		if t != "" {
			some = append(some, t)
		}
	}
	return some
}

// encryption looks at TLS and at the certificates.
func (c *Check) encryption(s locks.Server) string {
	if s.TLS == "" {
		return "no TLS"
	}
	text := "TLS " + locks.Printable(s.TLS)
	c.Figures["tls"] = locks.Printable(s.TLS)
	if s.Expires.IsZero() {
		return text
	}
	c.Figures["expires"] = s.Expires.UTC()
	remaining, day := s.Expires.Sub(s.Ours), s.Expires.Local().Format("2006-01-02 15:04")
	if s.Ours.IsZero() {
		remaining = time.Until(s.Expires)
	}
	switch {
	case remaining <= 0:
		c.worsen(Error, "renew the certificate, or correct this machine's clock")
		return text + " with a certificate that ended on " + day
	case remaining < expirySoon:
		c.worsen(Warning, "renew the certificate before then")
		return text + fmt.Sprintf(" with a certificate that ends in %s, on %s", days(remaining), day)
	}
	return text + fmt.Sprintf(" with certificates good for %s", days(remaining))
}

func days(d time.Duration) string {
	if d < 48*time.Hour {
		return d.Round(time.Hour).String()
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// clocks compares the server's clock with ours.
func (c *Check) clocks(s locks.Server) string {
	if s.Time.IsZero() || s.Ours.IsZero() {
		return ""
	}
	ahead := s.Time.Sub(s.Ours)
	c.Figures["clock_ahead_ns"] = ahead
	if ahead.Abs() <= clockApart {
		return "clocks agree within " + show(max(ahead.Abs(), time.Second).Truncate(time.Second))
	}
	c.worsen(Warning, "synchronize the clocks with NTP: the windows of --once-per depend on them; leases do not")
	if ahead > 0 {
		return "its clock is ahead of ours by " + show(ahead.Round(time.Second))
	}
	return "its clock is behind ours by " + show((-ahead).Round(time.Second))
}

// worsen raises the level, unless it is already as high.
func (c *Check) worsen(to Level, fix string) {
	if c.Level == Error || c.Level == Warning && to == Warning {
		return
	}
	c.Level, c.Fix = to, fix
}

// finding turns a finding of the backend into a check.
func finding(f locks.Finding) Check {
	c := Check{Name: locks.Printable(f.Check), Level: Warning, Text: escape(f.Text), Fix: escape(f.Fix)}
	if c.Text == "" {
		c.Text = "looked at"
	}
	switch f.Level {
	case "ok":
		c.Level = OK
	case "error":
		c.Level = Error
		if c.Fix == "" {
			c.Fix = remedy(nil)
		}
	}
	return c
}

// maxSentences is how much of a finding's text is shown, in characters.
const maxSentences = 1000

// escape is locks.Printable for sentences, which Printable would cut off.
func escape(s string) string {
	var b strings.Builder
	for part := range slices.Chunk([]rune(s)[:min(len([]rune(s)), maxSentences)], 200) {
		b.WriteString(locks.Printable(string(part)))
	}
	return b.String()
}
