package queue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/script"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

const latency = time.Millisecond

// A sim is a server of queues in this process. Tests decide what happens to its clients'
// requests and connections.
type sim struct {
	script.Script[verb, Fault]

	defect string // see defects_test.go

	mu      sync.Mutex
	lines   map[string]*line // by prefix and name
	last    uint64           // the last token
	nonces  int
	later   int // requests that were for a later holder
	paths   map[string]*path
	changed map[string]chan struct{} // by prefix: closed and removed with each change

	filled      []byte      // this and the next are for defects
	leaked      []*os.File  // kept, so that the garbage collector does not close them
	misdirected chan []byte // requests that reach waiters
}

// A line is what the server keeps for a lock.
type line struct {
	entries []*entry
	text    []byte
	version int // of the record
	request []byte
	asked   int // number of requests so far
	changes int
	unclean bool // the last holder did not release
}

// An entry is an entry as the server keeps it. It ends with its session.
type entry struct {
	key, nonce string
	token      uint64
	data       []byte
	ttl        time.Duration
	session    *time.Timer // nil: somebody else's entry, which does not end
	expires    time.Time
	led, clean bool // it has begun to lead; after a release
}

// A verb is the kind of a request.
type verb string

func (v verb) Kind() string { return string(v) }

// A Fault is what becomes of a request. The zero Fault lets it pass.
type Fault struct {
	Err       error           // it is refused with this error
	LoseReply bool            // it takes effect, but there is no answer
	Hold      <-chan struct{} // it arrives when this is closed
}

var (
	errReset  = errors.New("the connection was reset")
	errDenied = errors.New("not allowed")
	errGone   = locks.LostError("the entry is gone")
	errOther  = locks.LostError("that term is over")
)

func (s *sim) is(defect string) bool { return s.defect == defect }

func newSim() *sim {
	return &sim{lines: map[string]*line{}, paths: map[string]*path{}, changed: map[string]chan struct{}{}, misdirected: make(chan []byte, 9)}
}

// Verbs counts the requests of each verb since the last call.
func (s *sim) Verbs() map[verb]int {
	n := map[verb]int{}
	for _, v := range s.Requests() {
		n[v]++
	}
	return n
}

// line returns the line of a lock. This method and the next ones are called with mu held.
func (s *sim) line(key string) *line {
	if s.lines[key] == nil {
		s.lines[key] = &line{}
	}
	return s.lines[key]
}

func (l *line) find(nonce string) *entry {
	i := slices.IndexFunc(l.entries, func(e *entry) bool { return e.nonce == nonce })
	if i < 0 {
		return nil
	}
	return l.entries[i]
}

func (l *line) head() *entry {
	if len(l.entries) == 0 {
		return nil
	}
	return l.entries[0]
}

// others returns the entries that wait.
func (l *line) others() []*entry { return l.entries[min(len(l.entries), 1):] }

func (s *sim) look(l *line) queue.Line {
	h := l.head()
	if h == nil {
		return queue.Line{}
	}
	head := &queue.Head{Token: h.token, Label: h.data}
	switch {
	case s.is("anonymous"):
		head.Label = nil
	case s.is("hostile-record-panics") && !json.Valid(h.data):
		panic("a label that is not JSON")
	case s.is("hostile-record-fills-memory"):
		s.filled = make([]byte, 1<<30)
	}
	return queue.Line{Head: head, Waiters: len(l.others())}
}

func (s *sim) change(key string) {
	s.line(key).changes++
	prefix := prefixOf(key)
	if c := s.changed[prefix]; c != nil {
		close(c)
		delete(s.changed, prefix)
	}
}

func prefixOf(key string) string { return key[:strings.IndexByte(key, 0)+1] }

// next returns a channel that the next change to a store closes.
func (s *sim) next(prefix string) chan struct{} {
	if s.changed[prefix] == nil {
		s.changed[prefix] = make(chan struct{})
	}
	return s.changed[prefix]
}

func (s *sim) add(e *entry) {
	s.last++
	e.token = s.last
	l := s.line(e.key)
	if len(l.entries) > 1 && (s.is("unfair") || s.is("token-by-arrival")) {
		l.entries = slices.Insert(l.entries, 1, e)
	} else {
		l.entries = append(l.entries, e)
	}
	for _, later := range l.others()[min(len(l.others()), 1):] {
		if s.is("unfair") {
			s.last++
			later.token = s.last
		}
	}
	if e.ttl > 0 {
		s.extend(e, e.ttl)
	}
	l.lead()
	s.change(e.key)
	if l.head() != e && s.is("watch-misses-waiters") {
		l.changes--
	}
}

// lead notes how the term of the first entry began.
func (l *line) lead() {
	if h := l.head(); h != nil && !h.led {
		h.led, h.clean = true, !l.unclean
	}
}

func (s *sim) extend(e *entry, d time.Duration) {
	if s.is("expires-early") {
		d = d * 3 / 4
	}
	e.expires = time.Now().Add(d)
	if e.session != nil {
		e.session.Reset(d)
		return
	}
	e.session = time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		waits := s.line(e.key).head() != e
		if !time.Now().Before(e.expires) && !(waits && s.is("places-never-end")) {
			s.remove(e, s.is("clean-after-lapse"))
		}
	})
}

// remove removes an entry, by a release or otherwise.
func (s *sim) remove(e *entry, released bool) {
	l := s.line(e.key)
	i := slices.Index(l.entries, e)
	if i < 0 {
		return
	}
	l.entries = slices.Delete(l.entries, i, i+1)
	if e.session != nil {
		e.session.Stop()
	}
	if i == 0 {
		l.unclean = !released
		l.lead()
		s.endTerm(l, released)
	}
	s.change(e.key)
	if s.is("watch-misses-the-end") {
		l.changes--
	}
}

// endTerm does what some defects do at the end of a term.
func (s *sim) endTerm(l *line, released bool) {
	r, h := handle.ReadRequest(l.request), l.head()
	switch {
	case released && s.is("record-lost-on-release"), !released && s.is("record-lost-on-takeover"):
		l.text = nil
	case h != nil && r != nil && s.is("ask-kept-for-the-next-term"):
		l.request = handle.NewRequest(h.token, r.Text)
		l.asked++
	case h == nil && s.is("token-restarts-after-release"):
		s.last = 0
	}
}

// with calls f, which may read or change the server, with mu held.
func (s *sim) with(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Evict deletes an entry by its position, from 0, as an operator would.
func (s *sim) Evict(key string, position int) {
	s.with(func() {
		if l := s.line(key); position < len(l.entries) {
			s.remove(l.entries[position], false)
		}
		if s.is("token-restarts-after-deletion") {
			s.last = 0
		}
	})
}

// A path is a connection to the server, which can be cut.
type path struct {
	lockstest.Path
	isCut bool
	conns int // number of stores that use it
}

func (s *sim) path(host string) (p *path) {
	s.with(func() {
		if p = s.paths[host]; p == nil {
			p = &path{}
			s.paths[host] = p
		}
	})
	return p
}

func (s *sim) sever(p *path, how lockstest.Cut) (heal func()) {
	mend := p.Cut(how)
	s.with(func() { p.isCut = true })
	return func() { s.with(func() { p.isCut = false }); mend() }
}

// restart stops the server for a while. Afterwards each session has its full TTL again.
func (s *sim) restart(u *url.URL) {
	const outage = 200 * time.Millisecond
	heal := s.sever(s.path(u.Host), lockstest.CutReset)
	s.with(func() {
		if s.is("token-restarts-after-restart") {
			s.last = 0
		}
		for key, l := range s.lines {
			for _, e := range slices.Clone(l.entries) {
				switch {
				case !strings.HasPrefix(key, u.Path+"\x00"):
				case s.is("restart-forgets"):
					s.remove(e, false)
				case e.session != nil:
					s.extend(e, outage+e.ttl)
				}
			}
		}
	})
	time.Sleep(outage)
	heal()
}

// do makes one request. If the path is cut, the request arrives when it has healed, as with TCP.
func (c *client) do(ctx context.Context, v verb, f func()) error {
	time.Sleep(latency)
	c.s.Note(v)
	fault := c.s.Judge(v)
	if fault.Hold != nil {
		<-fault.Hold
	}
	if fault.Err != nil {
		return fault.Err
	}
	err := c.path.Do(ctx, func() { c.s.with(f) })
	if errors.Is(err, locks.ErrUnavailable) || err == nil && fault.LoseReply {
		err = errReset
	}
	return err
}

// insist repeats a request after errors that may pass, within the connect timeout.
func (c *client) insist(ctx context.Context, v verb, f func()) error {
	limit := c.o.ConnectTimeout
	if c.s.is("ability-ignores-context") {
		ctx = context.WithoutCancel(ctx)
	}
	if c.s.is("no-connect-timeout") || c.s.is("ability-ignores-context") {
		limit = time.Hour
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for tries := 1; ; tries++ {
		err := c.do(ctx, v, f)
		if err != nil && c.s.is("outage-is-loss-of-record") {
			return errGone
		}
		if !errors.Is(err, errReset) || tries == 5 {
			return err
		}
		time.Sleep(10 * latency)
	}
}

// until blocks until ok returns true. It calls ok after each change that the path lets through.
func (c *client) until(ctx context.Context, ok func() bool) error {
	for {
		var done bool
		var changed chan struct{}
		c.s.with(func() { done, changed = ok(), c.s.next(prefixOf(c.key)) })
		if done {
			if err := c.do(ctx, "event", func() {}); ctx.Err() == nil {
				return err
			}
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// soil replaces the label of the first entry, or adds an entry of somebody else.
func (s *sim) soil(key string, data []byte) {
	s.with(func() {
		if s.line(key).head() == nil {
			s.add(&entry{key: key})
		}
		s.line(key).head().data = data
	})
}

// under lists the locks under a prefix.
func (s *sim) under(prefix string, all bool) (lines []string) {
	s.with(func() {
		for key, l := range s.lines {
			if strings.HasPrefix(key, prefix) && (len(l.entries) > 0 || all && (l.text != nil || l.request != nil)) {
				lines = append(lines, fmt.Sprintf("%q: %d entries, %q", key, len(l.entries), bytes.TrimSpace(l.text[:min(len(l.text), 9)])))
			}
		}
	})
	return lines
}
