package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/record"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A client is the Store of a handle on a simulated server.
type client struct {
	s      *sim
	path   *path
	o      locks.Options
	prefix string
	key    string
}

func (c *client) line() *line { return c.s.line(c.key) }

func (c *client) Place(e *queue.Entry) (queue.Place, error) {
	var n int
	c.s.with(func() { c.s.nonces++; n = c.s.nonces })
	return &place{client: c, Entry: e, nonce: fmt.Sprint("nonce ", n)}, nil
}

func (c *client) Inspect(ctx context.Context) (st locks.State, err error) {
	err = c.insist(ctx, "inspect", func() {
		st = locks.State{Status: c.line().tell().Status()}
		for i, e := range c.line().entries {
			if i == 0 && e.session != nil {
				st.Left = time.Until(e.expires)
			} else if 0 < i && i <= locks.MaxQueue {
				st.Queue = append(st.Queue, record.Place(e.data))
			}
		}
	})
	return st, err
}

func (c *client) Record(ctx context.Context) (text []byte, err error) {
	err = c.insist(ctx, "record", func() { text = bytes.Clone(c.line().text) })
	return text, err
}

func (c *client) Ask(ctx context.Context, token uint64, request []byte) error {
	return c.insist(ctx, "ask", func() {
		if h := c.line().head(); h != nil && h.token == token {
			c.line().request = request
			c.line().asked++
			c.s.change(c.key)
		}
	})
}

func (c *client) Break(ctx context.Context, token uint64) (err error) {
	var other error
	err = c.insist(ctx, "break", func() {
		if h := c.line().head(); h == nil || h.token != token {
			other = errOther
		} else {
			c.s.remove(h)
		}
	})
	return errors.Join(err, other)
}

func (c *client) Forget(ctx context.Context) (err error) {
	var held error
	err = c.insist(ctx, "forget", func() {
		if c.line().head() != nil {
			held = &locks.HeldError{Status: c.line().tell().Status()}
		} else {
			delete(c.s.lines, c.key)
		}
	})
	return errors.Join(err, held)
}

func (c *client) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	err = c.insist(ctx, "list", func() {
		var names []string
		for key, l := range c.s.lines {
			name, ok := strings.CutPrefix(key, c.prefix)
			if ok && name > cursor && locks.CheckSlotName(name) == nil && (l.head() != nil || l.text != nil) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if len(names) > locks.MaxList {
			names = names[:locks.MaxList]
			next = names[locks.MaxList-1]
		}
		page = nil
		for _, name := range names {
			l := c.s.line(c.prefix + name)
			page = append(page, locks.Listed{Name: name, Status: l.tell().Status(), Record: queue.Clip(l.text)})
		}
	})
	return page, next, err
}

func (c *client) Watch(ctx context.Context, all bool, begun, tell func()) error {
	count := func() (n int) {
		for key, l := range c.s.lines {
			if key == c.key || all && strings.HasPrefix(key, c.prefix) {
				n += l.changes
			}
		}
		return n
	}
	var seen int
	if err := c.insist(ctx, "watch", func() { seen = count() }); err != nil {
		return err
	}
	for begun(); ; tell() {
		for c.until(ctx, func() bool { return count() != seen }) != nil {
			time.Sleep(10 * latency) // a connection is lost
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.s.with(func() { seen = count() })
	}
}

func (c *client) Fault(err error) queue.Fault {
	f := queue.Fault{Class: locks.ErrUnavailable, Text: err.Error(), Passing: errors.Is(err, errReset)}
	switch {
	case errors.Is(err, errDenied):
		f.Class, f.Hint = locks.ErrDenied, "ask for it"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f.Text, f.Vague = "no answer", true
	}
	return f
}

func (c *client) Close() {}

// A place is one in a queue. Its entry is known by its nonce.
type place struct {
	*client
	*queue.Entry
	nonce   string
	entered uint64 // our token
	before  string // the nonce of the entry that we wait for
	heard   int    // how many requests there were when we listened last
	version int    // of the text as we last knew it
}

func (p *place) own() *entry { return p.line().find(p.nonce) }

// Enter is a step in which the nonce is looked for first.
func (p *place) Enter(ctx context.Context, try bool) (v queue.View, err error) {
	err = p.insist(ctx, "enter", func() {
		if p.own() == nil && !(try && p.line().head() != nil) {
			p.s.add(&entry{key: p.key, nonce: p.nonce, ttl: p.o.TTL, data: record.New(p.o)})
		}
		v = p.view()
	})
	if err == nil && v.Token == 0 && !try {
		err = errGone
	}
	if err == nil && v.Token != 0 {
		p.entered = v.Token
		p.Granted(p.o.TTL)
	}
	return v, err
}

func (p *place) view() queue.View {
	v := queue.View{Line: p.line().tell()}
	if i := slices.IndexFunc(p.line().entries, func(e *entry) bool { return e.nonce == p.nonce }); i >= 0 {
		v.Token, v.Leads, v.Position = p.line().entries[i].token, i == 0, i
		if i > 0 {
			p.before = p.line().entries[i-1].nonce
		}
	}
	return v
}

func (p *place) Await(ctx context.Context) error {
	return p.until(ctx, func() bool { return p.line().find(p.before) == nil })
}

func (p *place) Look(ctx context.Context) (v queue.View, err error) {
	if err = p.do(ctx, "look", func() { v = p.view() }); err == nil && v.Token == 0 {
		err = errGone
	}
	return v, err
}

func (p *place) Guard(ctx context.Context, _ *backoff.Backoff) error {
	err := p.until(ctx, func() bool { return p.own() == nil })
	if err == nil && ctx.Err() == nil {
		err = errGone
	}
	return err
}

func (p *place) Restamp(ctx context.Context) error {
	return p.do(ctx, "restamp", func() {
		if own := p.own(); own != nil {
			own.data = record.New(p.o)
		}
	})
}

func (p *place) Hear(ctx context.Context, ear *queue.Ear) error {
	var request []byte
	if err := p.until(ctx, func() bool { return p.line().asked > p.heard }); err != nil || ctx.Err() != nil {
		return nil
	}
	err := p.do(ctx, "hear", func() { request, p.heard = p.line().request, p.line().asked })
	switch {
	case errors.Is(err, errDenied):
		return err
	case err == nil:
		ear.Pause.Reset()
		ear.Take(record.ReadRequest(request))
	}
	return nil
}

func (p *place) Renew(ctx context.Context) (err error) {
	there := false
	err = p.do(ctx, "renew", func() {
		if own := p.own(); own != nil && own.token == p.entered {
			there = true
			p.s.extend(own, own.ttl)
		}
	})
	if err == nil && !there {
		err = errGone
	}
	return err
}

func (p *place) Write(ctx context.Context, text []byte) (err error) {
	lost, done := false, false
	for tries := 0; err == nil && !lost && !done && tries < 5; tries++ {
		at := p.version
		err = p.insist(ctx, "write", func() {
			l := p.line()
			lost, done = p.own() == nil, false
			if !lost && l.version == at {
				l.text, l.version, done = bytes.Clone(text), l.version+1, true
			}
			p.version = l.version
		})
	}
	if err == nil && lost {
		err = errGone
	}
	return err
}

func (p *place) Term() string { return fmt.Sprintf("%s of %d", p.nonce, p.entered) }

func (p *place) Adopt(term string) (uint64, error) {
	nonce, token, ok := strings.Cut(term, " of ")
	if _, err := fmt.Sscan(token, &p.entered); err != nil || !ok {
		return 0, &locks.UsageError{What: "not a term"}
	}
	p.nonce = nonce
	p.Granted(p.o.TTL)
	return p.entered, nil
}

func (p *place) End(error) {}

func (p *place) Leave(ctx context.Context) error {
	for {
		err := p.do(ctx, "leave", func() {
			if own := p.own(); own != nil {
				p.s.remove(own)
			}
		})
		if !errors.Is(err, errReset) || backoff.Sleep(ctx, 10*latency) != nil {
			return err
		}
	}
}

var (
	_ queue.Lister  = (*client)(nil)
	_ queue.Watcher = (*client)(nil)
)
