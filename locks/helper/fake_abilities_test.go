package helper

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// The fake's methods for operators.

// List returns ?locks= locks with long texts or, without that, two locks on the first of
// two pages. The cursor of the next page is ?next=.
func (f *fake) List(ctx context.Context, cursor string) ([]locks.Listed, string, error) {
	if n, _ := strconv.Atoi(f.q.Get("locks")); n > 0 {
		return f.crowd(n), f.q.Get("next"), f.do(ctx, "list")
	}
	if cursor != "" {
		return nil, "", f.do(ctx, "list")
	}
	return []locks.Listed{
		{Name: "a#1", Status: locks.Status{Held: true, Holder: "me", Token: 7, Left: -1, Start: locks.StartClean}, Record: []byte{}},
		{Name: "b"},
	}, "b", f.do(ctx, "list")
}

func (f *fake) crowd(n int) (page []locks.Listed) {
	for i := range n {
		page = append(page, locks.Listed{
			Name:   fmt.Sprintf("lock%d", i),
			Status: locks.Status{Held: true, Holder: strings.Repeat("\x01", 5000), Host: strings.Repeat("\xff", 5000), Since: time.Unix(1<<60, 0), PID: -1, Start: "sideways"},
			Record: []byte(strings.Repeat("\x02", locks.MaxRecord)),
		})
	}
	page[0].Name += f.q.Get("suffix")
	if f.q.Has("text") {
		page[0].Record = []byte(f.q.Get("text"))
	}
	return page
}

// Watch reports ?changes= changes and then ends with ctx, or by itself with ?end.
func (f *fake) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	if err := f.do(ctx, fmt.Sprintf("watch %v", all)); err != nil {
		return nil, err
	}
	if err := f.do(ctx, "watch"); err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(f.q.Get("changes"))
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		defer f.note("watch ended")
		for range n {
			select {
			case changed <- struct{}{}:
			case <-ctx.Done():
			}
		}
		if !f.q.Has("end") {
			<-ctx.Done()
		}
	}()
	return changed, nil
}

func (f *fake) Break(ctx context.Context, token uint64) error {
	f.note(fmt.Sprint("break ", token))
	return f.do(ctx, "break")
}

// Probe returns one server, or ?servers= servers with long texts.
func (f *fake) Probe(ctx context.Context) (locks.Servers, error) {
	all := locks.Servers{
		Product:  "fake",
		Servers:  []locks.Server{{Address: "h:1", Version: "1.0", RTT: time.Microsecond}},
		Findings: []locks.Finding{{Check: "c", Level: "ok"}},
	}
	n, _ := strconv.Atoi(f.q.Get("servers"))
	text := strings.Repeat("\x01", 5000) + f.q.Get("text")
	if f.q.Has("text") {
		text = f.q.Get("text")
	}
	for range n {
		all.User = text
		all.Servers = append(all.Servers, locks.Server{
			Address: text, Error: text, Class: "lost", Version: text, Role: text, RTT: -1, TLS: text,
			Time: time.Unix(1<<60, 0), Ours: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Expires: time.Unix(-1<<60, 0),
		})
		all.Findings = append(all.Findings, locks.Finding{Check: text, Level: "sideways", Text: text, Fix: text})
	}
	return all, f.do(ctx, "probe")
}

func (f *fake) Forget(ctx context.Context) error { return f.do(ctx, "forget") }
