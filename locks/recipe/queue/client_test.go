package queue_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A client is the Store of a handle on a simulated server.
type client struct {
	s      *sim
	path   *path
	o      locks.Options
	prefix string
	key    string
	last   *contender   // the latest that it made
	seen   *locks.State // for a defect
}

func (c *client) line() *line { return c.s.line(c.key) }

func (c *client) is(defect string) bool { return c.s.is(defect) }

// withRecord returns the line that has the record: the lock's own, except with a defect.
func (c *client) withRecord() *line {
	if base, _, ok := strings.Cut(c.key, "#"); ok && c.is("slots-share-a-record") {
		return c.s.line(base)
	}
	return c.line()
}

func (c *client) NewEntry(of *queue.Campaign) (queue.Entry, error) {
	p := &contender{client: c, Campaign: of}
	c.s.with(func() {
		c.s.nonces++
		p.nonce, c.last = fmt.Sprint("nonce ", c.s.nonces), p
	})
	return p, nil
}

func (c *client) Inspect(ctx context.Context) (st locks.State, err error) {
	if c.seen != nil && c.is("inspect-lags") {
		return *c.seen, nil
	}
	err = c.insist(ctx, "inspect", func() {
		st = locks.State{Status: c.s.look(c.line()).Status()}
		for i, e := range c.line().entries {
			if i == 0 {
				c.addTerm(&st, e)
			}
			if i == 0 && !c.is("queue-has-the-holder") || i > locks.MaxQueue && !c.is("queue-unbounded") {
				continue
			}
			p := queue.ReadPlace(e.data)
			if c.is("queue-without-priority") {
				p.Priority = 0
			}
			st.Queue = append(st.Queue, p)
		}
	})
	switch {
	case c.is("inspect-lags"):
		c.seen = &st
	case c.is("queue-backwards"):
		slices.Reverse(st.Queue)
	case c.is("inspect-hides-no-resign"):
		st.NoResign = false
	case c.is("inspect-contends") && !st.Held:
		e := &entry{key: c.key, nonce: "inspector"}
		c.s.with(func() { c.s.add(e) })
		time.Sleep(latency)
		c.s.with(func() { c.s.remove(e, true) })
	}
	return st, err
}

// addTerm adds what the holder's entry does not say.
func (c *client) addTerm(st *locks.State, e *entry) {
	if st.Start = locks.StartTakeover; e.clean || c.is("start-is-always-clean") {
		st.Start = locks.StartClean
	}
	if e.session != nil {
		st.Left = time.Until(e.expires)
	}
	if c.is("left-is-the-ttl") {
		st.Left = e.ttl
	}
}

func (c *client) Record(ctx context.Context) (text []byte, err error) {
	err = c.insist(ctx, "record", func() { text = bytes.Clone(c.withRecord().text) })
	if text == nil && c.is("record-is-never-nil") {
		text = []byte{}
	}
	return text, err
}

func (c *client) Ask(ctx context.Context, token uint64, request []byte) error {
	return c.insist(ctx, "ask", func() {
		l := c.line()
		h, r, before := l.head(), handle.ReadRequest(request), handle.ReadRequest(l.request)
		switch {
		case h == nil, h.token != token && !c.is("ask-ignores-token"), c.is("ask-never"):
			return
		case before != nil && before.Token == token && c.is("first-ask-wins"):
			return
		case c.is("ask-ignores-token"):
			request = handle.NewRequest(h.token, r.Text)
		case c.is("ask-mangles"):
			request = handle.NewRequest(token, strings.ReplaceAll(r.Text, "\x00", ""))
		case c.is("ask-reaches-waiters"):
			c.s.misdirected <- []byte(r.Text)
		}
		l.request = request
		l.asked++
		c.s.change(c.key)
	})
}

func (c *client) Break(ctx context.Context, token uint64) (err error) {
	var other error
	if c.is("break-checks-first") {
		c.s.with(func() {
			if h := c.line().head(); h == nil || h.token != token {
				other = errOther
			}
		})
		time.Sleep(20 * latency)
	}
	err = c.insist(ctx, "break", func() {
		l := c.line()
		h := l.head()
		switch {
		case h == nil, h.token != token && !c.is("break-by-name") && !c.is("break-checks-first"):
			other = errOther
			return
		case c.is("break-does-nothing"), other != nil:
			return
		case c.is("break-ends-places"):
			for _, e := range slices.Clone(l.others()) {
				c.s.remove(e, false)
			}
		}
		c.s.remove(h, c.is("break-is-clean"))
		if c.is("break-restarts-token") {
			c.s.last = 0
		}
	})
	if c.is("break-repeats") {
		return err
	}
	return errors.Join(err, other)
}

func (c *client) Forget(ctx context.Context) (err error) {
	var held error
	err = c.insist(ctx, "forget", func() {
		l := c.line()
		switch {
		case l.head() != nil && c.is("forget-takes-the-record"):
			l.text = nil
		case l.head() != nil && c.is("forget-of-held-succeeds"):
			return
		case l.head() == nil && c.is("forget-keeps-the-request"):
			l.text = nil
			return
		}
		if l.head() != nil {
			held = &locks.HeldError{Status: c.s.look(l).Status()}
			return
		}
		for key := range c.s.lines {
			if key == c.key || strings.HasPrefix(key, c.key) && c.is("forget-by-prefix") {
				delete(c.s.lines, key)
			}
		}
	})
	return errors.Join(err, held)
}

// List uses the last name of a page as the cursor of the next page.
func (c *client) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	var answer error
	err = c.insist(ctx, "list", func() {
		names, from := c.names(), 0
		for from < len(names) && cursor != "" && names[from] <= cursor {
			from++
		}
		if c.is("list-counts-entries") {
			_, _ = fmt.Sscan(cursor, &from)
			from = min(from, len(names))
		}
		if names = names[from:]; len(names) > locks.MaxList && !c.is("list-is-one-page") {
			names = names[:locks.MaxList]
			next = names[locks.MaxList-1]
			switch {
			case c.is("list-counts-entries"):
				next = fmt.Sprint(from + locks.MaxList)
			case c.is("list-stops-after-a-page"):
				next = ""
			}
		}
		page = nil
		for _, name := range names {
			one := c.listed(name)
			if h := c.s.line(c.prefix + name).head(); h != nil && !json.Valid(h.data) && c.is("list-fails-on-garbage") {
				answer = errors.New("not JSON")
			}
			page = append(page, one)
		}
	})
	return page, next, errors.Join(err, answer)
}

// names returns the names of the locks in the store, in order.
func (c *client) names() (names []string) {
	for key, l := range c.s.lines {
		prefix, name, _ := strings.Cut(key, "\x00")
		switch {
		case prefix+"\x00" != c.prefix && !c.is("list-has-other-stores"),
			l.head() == nil && (l.text == nil || c.is("list-only-held")),
			locks.CheckSlotName(name) != nil && !c.is("list-has-strangers"),
			locks.CheckName(name) != nil && c.is("list-without-slots"):
			continue
		case len(name) > 100 && c.is("list-cuts-names"):
			name = name[:100]
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *client) listed(name string) locks.Listed {
	l := c.s.line(c.prefix + name)
	one := locks.Listed{Name: name, Status: c.s.look(l).Status(), Record: queue.Clip(l.text)}
	switch {
	case c.is("list-without-records"):
		one.Record = nil
	case c.is("record-unbounded"):
		one.Record = l.text
	}
	return one
}

func (c *client) Watch(ctx context.Context, all bool, begun, report func()) error {
	count := func() (n int) {
		for key, l := range c.s.lines {
			if key == c.key || all && strings.HasPrefix(key, c.prefix) && !c.is("watch-of-all-is-of-one") {
				n += l.changes
			}
		}
		return n
	}
	if c.is("watch-tells-once") {
		report = sync.OnceFunc(report)
	}
	var seen int
	if err := c.insist(ctx, "watch", func() { seen = count() }); err != nil {
		return err
	}
	changed := func() bool {
		if c.path.isCut && c.is("watch-forgets-in-cut") {
			seen = count()
		}
		return count() != seen
	}
	for begun(); ; report() {
		for c.until(ctx, changed) != nil {
			time.Sleep(10 * latency) // a connection is lost
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.s.with(func() { seen = count() })
	}
}

func (c *client) Probe(ctx context.Context) (locks.Servers, error) {
	limit := c.o.ConnectTimeout
	if c.is("probe-hangs") {
		limit, ctx = time.Hour, context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	one := locks.Server{Address: "sim", Ours: time.Now(), RTT: latency}
	err := c.do(ctx, "probe", func() { one.Time = time.Now() })
	switch {
	case err != nil && !c.is("probe-hides-errors"):
		one = locks.Server{Address: "sim", Error: err.Error(), Class: "unavailable"}
	case c.is("probe-without-round-trip"):
		one.RTT = 0
	case c.is("probe-contends"):
		c.s.with(func() { c.s.add(&entry{key: c.key, nonce: "probe"}) })
	}
	return locks.Servers{Product: "sim", Servers: []locks.Server{one}}, nil
}

func (c *client) Fault(err error) queue.Fault {
	if err == nil || handle.Class(err) != nil {
		panic(fmt.Sprint("nothing to classify: ", err))
	}
	e := &locks.Error{Class: locks.ErrUnavailable, Err: err}
	f := queue.Fault{Explained: e, Transient: errors.Is(err, errReset) && !c.is("outage-ends-waiting")}
	switch {
	case errors.Is(err, errDenied):
		e.Class, e.Hint = locks.ErrDenied, "ask for it"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e.Err, f.Timeout = errors.New("no answer"), true
	}
	return f
}

func (c *client) Close() {
	if !c.is("leaks-connection") {
		c.s.with(func() { c.path.conns-- })
	}
}

// A contender is the queue.Entry of a client. The server knows its entry by the nonce.
type contender struct {
	*client
	*queue.Campaign
	ended   atomic.Bool
	nonce   string
	entered uint64 // our token
	before  string // the nonce of the entry before ours
	seen    int    // number of requests when we last read them
	version int    // of the record as we last knew it
	adopted bool
	missed  bool // for a defect
}

func (p *contender) own() *entry { return p.line().find(p.nonce) }

// Enter looks for the nonce first, in the same step.
func (p *contender) Enter(ctx context.Context, try bool) (v queue.View, err error) {
	err = p.insist(ctx, "enter", func() {
		h := p.line().head()
		if h != nil && !json.Valid(h.data) && p.is("hostile-record-counts-as-free") {
			p.s.remove(h, false)
		}
		if p.own() == nil && (!try || p.line().head() == nil || p.is("try-leaves-place")) {
			p.s.add(&entry{key: p.key, nonce: p.nonce, ttl: p.o.TTL, data: queue.NewLabel(p.o)})
		}
		v = p.view()
	})
	if err == nil && v.Token == 0 && !try {
		err = errGone
	}
	if err == nil && v.Token != 0 {
		p.entered = v.Token
		p.Granted(p.o.TTL)
		if p.is("extends-by-itself") {
			p.Spawn(p.extends)
		}
	}
	return v, err
}

// extends is for a defect.
func (p *contender) extends(ctx context.Context) {
	for backoff.Sleep(ctx, p.o.TTL/3) == nil {
		_ = p.Renew(ctx)
	}
}

func (p *contender) view() queue.View {
	v := queue.View{Line: p.s.look(p.line())}
	if i := slices.IndexFunc(p.line().entries, func(e *entry) bool { return e.nonce == p.nonce }); i >= 0 {
		v.Token, v.Position = p.line().entries[i].token, i
		v.Leads = i == 0 || i == 1 && p.is("grants-two") || p.is("waits-for-nothing") || p.before != "" && p.is("leads-once-it-moves")
		if v.Leads {
			p.entered = v.Token
		}
		if p.is("waiting-hides-position") {
			v.Position = 0
		}
		if i > 0 {
			p.before = p.line().entries[i-1].nonce
		}
	}
	return v
}

func (p *contender) Await(ctx context.Context) error {
	switch {
	case p.is("waiting-must-be-set"):
		p.o.Waiting(locks.Waiting{})
	case p.is("wakes-nobody"):
		<-ctx.Done()
		return nil
	}
	err := p.until(ctx, func() bool {
		gone := p.line().find(p.before) == nil
		p.missed = p.missed || gone && p.path.isCut && p.is("wake-lost-in-cut")
		return gone && !p.missed
	})
	return cmp.Or(err, ctx.Err())
}

func (p *contender) Look(ctx context.Context) (v queue.View, err error) {
	if err = p.do(ctx, "look", func() { p.requeue(); v = p.view() }); err == nil && v.Token == 0 {
		err = errGone
	}
	return v, err
}

// requeue is for a defect.
func (p *contender) requeue() {
	l, own := p.line(), p.own()
	if i := slices.Index(l.entries, own); i > 0 && p.adopted && p.is("resume-requeues") {
		l.entries = append(slices.Delete(l.entries, i, i+1), own)
	}
}

func (p *contender) WatchEntry(ctx context.Context, _ *backoff.Backoff) error {
	if p.adopted && p.is("adopt-is-blind") || p.is("renew-resurrects") {
		<-ctx.Done()
	}
	err := p.until(ctx, func() bool { return p.own() == nil })
	if err == nil && ctx.Err() == nil {
		err = errGone
	}
	return err
}

func (p *contender) Update(ctx context.Context) error {
	if p.is("since-is-of-the-wait") {
		return nil
	}
	gone := false
	err := p.do(ctx, "update", func() {
		if own := p.own(); own != nil {
			own.data = queue.NewLabel(p.o)
		} else {
			gone = true
		}
	})
	if err == nil && gone {
		err = errGone
	}
	return err
}

func (p *contender) WatchRequests(ctx context.Context, in *queue.Inbox) error {
	var request []byte
	if p.adopted && p.is("adopt-without-requests") {
		<-ctx.Done()
	}
	asked := func() bool {
		if p.path.isCut && p.is("ask-lost-in-cut") {
			p.seen = p.line().asked
		}
		return p.line().asked > p.seen
	}
	if err := p.until(ctx, asked); err != nil || ctx.Err() != nil {
		return nil
	}
	err := p.do(ctx, "watch requests", func() { request, p.seen = p.line().request, p.line().asked })
	switch {
	case errors.Is(err, errDenied):
		return err
	case err == nil:
		in.Pause.Reset()
		if in.Deliver(request) {
			p.s.with(func() { p.s.later++ })
		}
	}
	return nil
}

func (p *contender) Renew(ctx context.Context) (err error) {
	if p.is("renew-ignores-context") {
		ctx = context.WithoutCancel(ctx)
	}
	answer := error(errGone)
	err = p.do(ctx, "renew", func() {
		own, l := p.own(), p.line()
		waits := own != nil && own != l.head()
		switch {
		case own == nil && l.head() == nil && p.is("renew-resurrects"):
			own = &entry{key: p.key, nonce: p.nonce, ttl: p.o.TTL}
			p.s.add(own)
		case own == nil, own.token != p.entered && !p.is("unfair"), waits && p.is("renew-in-queue-is-loss"):
			return
		case waits && p.is("renew-only-when-held"):
			answer = locks.ErrNoLease
			return
		case waits && p.is("renew-requeues"):
			i := slices.Index(l.entries, own)
			l.entries = append(slices.Delete(l.entries, i, i+1), own)
		case p.is("watch-tells-renewals"):
			p.s.change(p.key)
		}
		answer = nil
		p.s.extend(own, own.ttl)
	})
	if err == nil || p.is("outage-is-loss") {
		err = answer
	}
	return err
}

func (p *contender) Write(ctx context.Context, text []byte) (err error) {
	lost, done := false, false
	for tries := 0; err == nil && !lost && !done && tries < 5; tries++ {
		at := p.version
		err = p.insist(ctx, "write", func() {
			l, own := p.withRecord(), p.own()
			lost, done = own == nil, false
			switch {
			case lost:
			case p.is("record-extends"):
				p.s.extend(own, own.ttl)
			case p.is("record-ends-lease"):
				p.s.remove(own, true)
			case p.is("record-trimmed"):
				text = bytes.TrimSpace(text)
			}
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

func (p *contender) Term() string { return fmt.Sprintf("%s of %d", p.nonce, p.entered) }

func (p *contender) Adopt(term string) (uint64, error) {
	nonce, token, ok := strings.Cut(term, " of ")
	if _, err := fmt.Sscan(token, &p.entered); (err != nil || !ok) && !p.is("adopt-of-anything") {
		return 0, &locks.UsageError{What: "not a term"}
	}
	p.nonce, p.adopted = nonce, true
	p.s.with(func() {
		if h := p.line().head(); h != nil && p.is("adopt-by-name") {
			p.nonce, p.entered = h.nonce, h.token
		}
		if own := p.own(); own != nil && p.is("adopt-extends") {
			p.s.extend(own, own.ttl)
		}
	})
	p.Granted(p.o.TTL)
	return p.entered, nil
}

// End and Leave check that they are called in this order, and End once.
func (p *contender) End(error) {
	if p.ended.Swap(true) {
		panic("End is called twice")
	}
}

func (p *contender) Leave(ctx context.Context) error {
	if !p.ended.Load() {
		panic("Leave is called before End")
	}
	failed := p.Token() == 0
	switch {
	case failed && (p.is("cancel-keeps-place") || p.is("try-leaves-place")):
		return nil
	case failed && p.is("cancel-leaks-goroutine"):
		go func() { select {} }()
	case failed && p.is("undo-takes-its-time"):
		slow, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ctx = slow
	}
	for {
		try, cancel := backoff.Try(ctx)
		if p.is("release-tries-once") {
			try, cancel = context.WithCancel(ctx)
		}
		err := p.do(try, "leave", func() {
			own := p.own()
			if h := p.line().head(); h != nil && h.nonce != "" && p.is("release-by-name") {
				own = h
			}
			if own != nil {
				p.s.remove(own, true)
			}
		})
		cancel()
		if !errors.Is(err, errReset) && !errors.Is(err, context.DeadlineExceeded) || backoff.Sleep(ctx, 10*latency) != nil {
			return err
		}
	}
}
