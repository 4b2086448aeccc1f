package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// An operation is something that a run may do.
type operation struct {
	name    string
	ability locks.Ability // that it needs; "": every backend can do it
	needed  string        // what fails without it; "": every run
	do      func(context.Context, *handle) error
}

// operations returns the operations that one contender tries, in this order.
func (e *exam) operations() []operation {
	return []operation{
		{"acquire", "", "", e.tryAcquire},
		{"renew", "", "", func(ctx context.Context, h *handle) error { return h.renew(ctx) }},
		{"inspect", locks.CanInspect, "leaderrun status and leaderrun resign", tryInspect},
		{"record", locks.CanRecord, "--once-per, --slots and --takeover strict", tryRecord},
		{"ask", locks.CanAsk, "leaderrun resign", tryAsk},
		{"list", locks.CanList, "leaderrun status --all", tryList},
		{"release", "", "", func(ctx context.Context, h *handle) error { return h.free(ctx) }},
	}
}

// permissions tries each operation once, on the scratch lock. It returns one check for all
// that succeed, and one for each that fails.
func (e *exam) permissions(ctx context.Context) []Check {
	h, err := e.open(ctx, e.patient())
	if err != nil {
		e.stop("it cannot be opened")
		return []Check{failed("permissions", err)}
	}
	defer func() { h.end(ctx) }()
	var checks []Check
	var done []string
	figures := figures{}
	for _, o := range e.operations() {
		if o.ability != "" && !h.can(ctx, o.ability) {
			continue // the checks that need the ability say so
		}
		start, paused := e.Clock.Now(), e.paused
		err := o.do(ctx, h)
		if took := e.Clock.Now().Sub(start) - (e.paused - paused); err == nil {
			done = append(done, o.name+" "+show(took))
			figures[o.name+"_ns"] = took
			continue
		}
		if o.name == "acquire" && errors.Is(err, locks.ErrUsage) && e.patient() > e.TTL {
			e.short = true // the store refuses the lease that runs would not ask for
			return e.permissions(ctx)
		}
		c := failed(o.name, err)
		if o.needed != "" {
			c.Text += "; " + o.needed + " will fail"
		}
		checks = append(checks, c)
		if o.name == "acquire" || o.name == "release" {
			e.stop("the scratch lock cannot be " + map[string]string{"acquire": "acquired", "release": "released"}[o.name])
			break
		}
	}
	if len(done) > 0 {
		checks = slices.Insert(checks, 0, ok("permissions", figures, "%s", strings.Join(done, ", ")))
	}
	return checks
}

// tryAcquire also finds out the longest lease that the server grants.
func (e *exam) tryAcquire(ctx context.Context, h *handle) error {
	grant, err := h.take(ctx)
	if err == nil && grant.TTL > 0 && grant.TTL < h.ttl {
		e.longest = grant.TTL
	}
	return err
}

func tryInspect(ctx context.Context, h *handle) error {
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	st, err := h.Lock.(locks.Inspector).Inspect(ctx)
	switch {
	case err != nil:
		return err
	case !st.Held:
		return errors.New("the lock was acquired but is shown as free")
	}
	return nil
}

func tryRecord(ctx context.Context, h *handle) error {
	h.e.pace(ctx)
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	r, text := h.Lock.(locks.Recorder), []byte(`{"leaderrun":"doctor"}`)
	if err := r.SetRecord(ctx, text); err != nil {
		return err
	}
	got, err := r.Record(ctx)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(got, text):
		return errors.New("the record read back differs from the one written")
	}
	return nil
}

// askPatience is how long a request to the holder may take to arrive. Some backends deliver
// it with one of the next renewals.
const askPatience = 5 * time.Second

// tryAsk asks the holder, which is this process, and waits until the request arrives.
func tryAsk(ctx context.Context, h *handle) error {
	if err := ask(ctx, h); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	for {
		select {
		case <-h.Lock.(locks.Asker).Asked():
			return nil
		case <-time.After(queuePause): // the last renewal may have delivered it
			if err := h.renew(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("the holder did not receive a request within %v", askPatience)
		}
	}
}

// ask leaves a request for the holder.
func ask(ctx context.Context, h *handle) error {
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	st, err := h.Lock.(locks.Inspector).Inspect(ctx)
	if err != nil {
		return err
	}
	return h.Lock.(locks.Asker).Ask(ctx, st.Token, []byte("doctor"))
}

// listPages is how many pages of the list we look at.
const listPages = 100

// tryList looks for the scratch lock, which is held.
func tryList(ctx context.Context, h *handle) error {
	cursor := ""
	for range listPages {
		page, next, err := list(ctx, h, cursor)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(page, func(l locks.Listed) bool { return l.Name == h.e.scratch }):
			return nil
		case next == "":
			return errors.New("a held lock is not in the list")
		}
		cursor = next
	}
	return nil // there are too many to be sure
}

func list(ctx context.Context, h *handle, cursor string) ([]locks.Listed, string, error) {
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	return h.Lock.(locks.Lister).List(ctx, cursor)
}
