package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// parse parses the user's value of --backend.
func (e *exam) parse(context.Context) []Check {
	var err error
	if e.backend, err = locks.Parse(e.Config.Backend); err != nil {
		e.stop("the backend is unknown")
		return []Check{failed("backend", err)}
	}
	if err := locks.CheckName(e.scratch); err != nil {
		e.stop("there is no name for a scratch lock")
		return []Check{failed("backend", err)}
	}
	shown := known.Redact(e.backend)
	if e.backend.Host == "" && e.backend.Path == "" {
		shown = e.backend.Scheme
	}
	text := fmt.Sprintf("%s (%s)", locks.Printable(shown), e.Source)
	if covers := options.Covers(e.backend); covers != "" {
		text += "; its locks cover" + strings.NewReplacer("(", "", ")", "").Replace(covers)
	}
	return []Check{ok("backend", figures{"backend": shown, "source": e.Source}, "%s", text)}
}

// helper finds the helper program and starts it.
func (e *exam) helper(ctx context.Context) []Check {
	path, err := e.Find(e.backend.Scheme)
	if err != nil {
		e.stop("there is no helper program for it")
		return []Check{failed("helper", err)}
	}
	e.observer, err = e.open(ctx, e.patient())
	switch {
	case path == "":
		e.refused = err // settings reports it
		return []Check{ok("helper", nil, "not needed: the backend is built in")}
	case err != nil:
		e.stop("the helper program does not start")
		return []Check{failed("helper", err)}
	}
	version, err := e.observer.version(ctx)
	if err != nil {
		e.stop("the helper program does not respond")
		return []Check{failed("helper", err)}
	}
	f := figures{"path": path, "version": version}
	if version != e.Version && !e.Foreign(e.backend.Scheme) {
		c := warning("helper", "install both from one release", "%s has version %s, and leaderrun %s", path, shownVersion(version), e.Version)
		c.Figures = f
		return []Check{c}
	}
	return []Check{ok("helper", f, "%s, version %s", path, shownVersion(version))}
}

func shownVersion(v string) string {
	if v == "" {
		return "unknown"
	}
	return v
}

// version returns the version of the helper program.
func (h *handle) version(ctx context.Context) (string, error) {
	v, ok := h.Lock.(interface {
		Version(ctx context.Context) (string, error)
	})
	if !ok {
		return "", nil
	}
	ctx, cancel := h.e.bounded(ctx)
	defer cancel()
	return v.Version(ctx)
}
