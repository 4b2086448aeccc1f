package helper

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// Probe implements locks.Prober.
func (l *Lock) Probe(ctx context.Context) (locks.Servers, error) {
	p, err := l.call(ctx, request{Method: methodProbe})
	return withTexts(value(p.result.Servers), l.clean), err
}

// takeServers returns an error for invalid servers.
func takeServers(_ *pending, r *result) error {
	all := r.Servers
	switch {
	case all == nil:
		return errors.New("an answer without servers")
	case len(all.Servers) > locks.MaxServers:
		return errors.New("too many servers")
	case len(all.Findings) > locks.MaxFindings:
		return errors.New("too many findings")
	}
	for _, s := range all.Servers {
		if s.RTT < 0 || s.RTT > maxTTL || s.Class != fitClass(s.Class) {
			return errors.New("an invalid server")
		}
	}
	for _, f := range all.Findings {
		if f.Level != fitLevel(f.Level) {
			return errors.New("a finding with an invalid level")
		}
	}
	return nil
}

func answerProbe(ctx context.Context, p locks.Prober, c *call) error {
	all, err := p.Probe(ctx)
	c.result.Servers = fitServers(withTexts(all, c.server.secrets.hider()))
	return err
}

// fitServers makes the result of a probe fit into a line. If it does not fit, its texts
// are shortened as far as needed.
func fitServers(all locks.Servers) *locks.Servers {
	all.Servers = append([]locks.Server(nil), all.Servers[:min(len(all.Servers), locks.MaxServers)]...)
	for i := range all.Servers {
		s := &all.Servers[i]
		s.Class, s.RTT = fitClass(s.Class), min(max(s.RTT, 0), maxTTL)
		s.Time, s.Ours, s.Expires = fitTime(s.Time), fitTime(s.Ours), fitTime(s.Expires)
	}
	all.Findings = append([]locks.Finding(nil), all.Findings[:min(len(all.Findings), locks.MaxFindings)]...)
	for i := range all.Findings {
		all.Findings[i].Level = fitLevel(all.Findings[i].Level)
	}
	for limit := maxText; ; limit /= 2 { // without texts, the longest allowed result fits
		fit := withTexts(all, func(s string) string { return cut(s, limit) })
		if jsonSize(fit) <= maxState {
			return &fit
		}
	}
}

// withTexts returns all with clean applied to each text, but not to the fields whose
// value is one of a few words.
func withTexts(all locks.Servers, clean func(string) string) locks.Servers {
	all.Product, all.User = clean(all.Product), clean(all.User)
	servers, findings := all.Servers, all.Findings
	all.Servers, all.Findings = nil, nil
	for _, s := range servers {
		s.Address, s.Error = clean(s.Address), clean(s.Error)
		s.Version, s.Role, s.TLS = clean(s.Version), clean(s.Role), clean(s.TLS)
		all.Servers = append(all.Servers, s)
	}
	for _, f := range findings {
		f.Check, f.Text, f.Fix = clean(f.Check), clean(f.Text), clean(f.Fix)
		all.Findings = append(all.Findings, f)
	}
	return all
}

// fitClass and fitLevel return the word to use instead of an unknown one.

func fitClass(class string) string {
	if class == "denied" || class == "unavailable" {
		return class
	}
	return ""
}

func fitLevel(level string) string {
	if level == "ok" || level == "error" {
		return level
	}
	return "warning"
}
