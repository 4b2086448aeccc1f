package lockstest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

var errSilent = errors.New("no server has answered")

// probed calls Probe, and returns an error if no server has answered.
func (k *contender) probed(ctx context.Context) error {
	all, err := k.probe(ctx)
	answered := func(s locks.Server) bool { return s.Error == "" }
	if err == nil && !slices.ContainsFunc(all.Servers, answered) {
		err = cmp.Or(ctx.Err(), errSilent)
	}
	return err
}

// validServers checks what holds for all servers, healthy or not.
func (e *env) validServers(all locks.Servers) {
	e.Helper()
	if all.Product == "" {
		e.Error("Product is empty")
	}
	if len(all.Servers) > locks.MaxServers || len(all.Findings) > locks.MaxFindings {
		e.Errorf("there are %d servers and %d findings", len(all.Servers), len(all.Findings))
	}
	for _, s := range all.Servers {
		if s.Address == "" || strings.Contains(s.Address, "@") {
			e.Errorf("a server has the address %q", s.Address)
		}
		if s.Class != "" && s.Class != "denied" && s.Class != "unavailable" || s.RTT < 0 {
			e.Errorf("invalid server %+v", s)
		}
	}
	for _, f := range all.Findings {
		if f.Check == "" || !slices.Contains([]string{"ok", "warning", "error"}, f.Level) {
			e.Errorf("a finding is %+v", f)
		}
	}
}

// probeReports probes healthy servers, and disturbs no holder.
func probeReports(e *env) {
	w := e.open("operator")
	before := e.leftovers()
	for range 2 {
		all, err := w.probe(e.patient())
		if err != nil {
			e.Fatalf("probe: %v", err)
		}
		e.validServers(all)
		if e.c.Cut != nil && len(all.Servers) == 0 {
			e.Error("there is a network but no server")
		}
		for _, s := range all.Servers {
			e.isHealthy(s)
		}
	}
	if after := e.leftovers(); !slices.Equal(before, after) {
		e.Errorf("stored before a probe: %q, and after: %q", before, after)
	}
	a := e.open("a")
	a.hold()
	for _, k := range []*contender{w, a} {
		if err := k.probed(e.patient()); err != nil && e.c.Cut != nil {
			e.Errorf("%s: probe while the lock is held: %v", k.o.Holder, err)
		}
	}
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew: %v", err)
	}
	a.release()
	e.free()
}

func (e *env) isHealthy(s locks.Server) {
	e.Helper()
	if s.Error != "" || s.Class != "" || s.RTT > e.prompt || s.RTT == 0 && e.c.Cut != nil {
		e.Errorf("a healthy server is reported as %+v", s)
	}
	if s.Time.IsZero() {
		return // the server does not report its time
	}
	if age := time.Since(s.Ours); age < -e.stall || age > e.patience {
		e.Errorf("our clock is reported as %v, which is %v ago", s.Ours, age)
	}
	if d := s.Time.Sub(s.Ours); d.Abs() > 2*e.stall { // both are the same clock
		e.Errorf("the server's clock is reported to differ by %v", d)
	}
}

// probeUnreachable cuts the network before anything was sent over it.
func probeUnreachable(e *env, how Cut) {
	heal := e.sever(e.u, how)
	o := e.options("operator")
	o.ConnectTimeout = time.Second
	w := e.openWith(e.u, o)
	ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
	defer cancel()
	start := e.now()
	all, err := w.probe(ctx)
	if took := e.now().Sub(start); took > e.prompt+e.stall {
		e.Errorf("the answer took %v", took)
	}
	if err != nil {
		e.harmless(err)
		if !errors.Is(err, locks.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			e.Errorf("got %v; want ErrUnavailable", err)
		}
	} else {
		e.validServers(all)
		for _, s := range all.Servers {
			if s.Error == "" || s.Class != "unavailable" {
				e.Errorf("an unreachable server is reported as %+v", s)
			}
		}
	}
	heal()
	e.eventually(e.prompt+e.late(), "a server answers after the cut", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
		defer cancel()
		return w.probed(ctx) == nil
	})
}
