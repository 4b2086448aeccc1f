package caslease_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/script"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// latency is how long a request takes each way. In a bubble, time passes only in this way.
const latency = time.Millisecond

// A sim is a server of cells in this process. Tests decide what happens to its clients'
// requests and connections.
type sim struct {
	script.Script[Request, Fault]

	expiry  caslease.Expiry
	watched bool   // its clients are Watchers
	defect  string // see storeDefects
	strict  bool   // it checks MinAge in the step that writes
	follows func(since, version string) bool
	early   bool // see ReadsEarly
	clock   func() time.Time
	trusted bool          // see Disciplined
	dated   bool          // its cells have times, although nothing may rely on them
	longest time.Duration // see LongestPoll
	rested  atomic.Int32  // calls of Rest
	started time.Time     // what was written before that shows no time

	mu       sync.Mutex
	cells    map[string]*cell // by prefix, part and name
	versions int
	paths    map[string]*lockstest.Path
	watchers map[*watcher]bool
	serial   int
}

func newSim(e caslease.Expiry) *sim {
	return &sim{expiry: e, clock: time.Now, cells: map[string]*cell{}, paths: map[string]*lockstest.Path{}, watchers: map[*watcher]bool{}}
}

// A cell is a cell as the server keeps it.
type cell struct {
	caslease.Cell
	created time.Time
	writes  uint64
	lease   string    // for ByLease: the nonce of the term that has the store's lease
	ends    time.Time // when that lease ends
}

func (c *cell) leased() bool { return c != nil && c.lease != "" && time.Now().Before(c.ends) }

// A Request is one that the server has received.
type Request struct {
	Verb  string // "read", "create", "swap", "delete", "list", "watch"
	Key   caslease.Key
	Value caslease.Value
	At    time.Time

	Refused bool // because the cell had changed
}

// Kind implements [script.Request].
func (r Request) Kind() string { return r.Verb }

// verb returns the verb; for the cell of a Request it begins with "ask".
func (r Request) verb() string {
	if r.Key.Part == caslease.Request {
		return "ask " + r.Verb
	}
	return r.Verb
}

// A Fault is what becomes of a request. The zero Fault lets it pass.
type Fault struct {
	Late      <-chan struct{}      // it takes effect when this is closed, even if the caller has given up
	Drop      bool                 // it has no effect, and there is no answer
	LoseReply bool                 // it takes effect, but there is no answer
	Twice     bool                 // it arrives twice, and is answered the second time
	Hold      <-chan struct{}      // it takes effect, and is answered when this is closed
	Err       error                // it is refused with this error
	Answer    func(*caslease.Cell) // changes the answer
}

// An answer is an error that the server returned.
type answer struct {
	kind causes.Kind
	text string
}

func (e *answer) Error() string { return e.text }

func refuse(k causes.Kind, text string) error { return &answer{k, text} }

func id(prefix string, k caslease.Key) string {
	return fmt.Sprintf("%s|%d|%s", prefix, k.Part, k.Name)
}

// id returns the id of a key's cell.
func (c *client) id(k caslease.Key) string {
	switch c.defect {
	case "names-fold-case":
		k.Name = strings.ToLower(k.Name)
	case "parts-are-one":
		k.Part = caslease.Lease
	}
	return id(c.prefix, k)
}

// show returns a cell as an answer shows it. It is called with mu held.
func (s *sim) show(at string) caslease.Cell {
	c := s.cells[at]
	if c == nil {
		return caslease.Cell{}
	}
	shown, start := c.Cell, uint64(c.created.UnixMicro())
	shown.First, shown.Floor = start+1, start+c.writes
	switch s.defect {
	case "tokens-begin-again":
		shown.First, shown.Floor = 1, c.writes
	case "floor-falls":
		shown.Floor = shown.First - 1
	case "empty-text-is-none":
		if len(shown.Record) == 0 {
			shown.Record = nil
		}
	}
	if c.Updated.Before(s.started) {
		shown.Updated = time.Time{}
	}
	switch s.expiry {
	case caslease.ByWatching:
		shown.Updated = shown.Updated.Truncate(time.Second)
		if !s.dated {
			shown.Updated = time.Time{}
		}
		shown.Date = s.clock().Truncate(time.Second)
	case caslease.ByStamps:
		shown.Date = s.clock().Truncate(time.Second)
	case caslease.ByClock:
		shown.Date = s.clock()
		shown.Next = uint64(shown.Date.UnixMicro()) + 1
		if s.defect == "next-is-beyond" {
			shown.Next += uint64(time.Hour)
		}
	case caslease.ByLease:
		shown.Updated, shown.Leased = time.Time{}, c.leased()
	}
	return shown
}

// swap is called with mu held.
func (s *sim) swap(at, version string, to caslease.Value) (caslease.Cell, error) {
	c := s.cells[at]
	switch {
	case s.defect == "refused-swap-writes-text" && c != nil && c.Version != version:
		c.Record = to.Record
	case s.defect == "refused-is-unknown" && (c == nil || c.Version != version) && version != "":
		return caslease.Cell{}, refuse(causes.Unknown, "?")
	case s.defect == "swap-ignores-version" && c != nil && version != "",
		s.defect == "create-overwrites" && version == "",
		s.defect == "swap-creates" && c == nil:
		s.write(at, to)
		return s.show(at), nil
	}
	if c == nil && version != "" || c != nil && c.Version != version || s.strict && c != nil && s.clock().Sub(c.Updated) < to.MinAge {
		return caslease.Cell{}, refuse(causes.Changed, "the cell has changed")
	}
	if s.expiry == caslease.ByLease {
		if renewed, err := s.lease(at, c, to); renewed || err != nil {
			shown := s.show(at)
			shown.State = to.State
			return shown, err
		}
	}
	s.write(at, to)
	if s.defect == "answer-lags" {
		return caslease.Cell{Version: s.cells[at].Version, State: "{}"}, nil
	}
	return s.show(at), nil
}

// lease takes, renews or ends the store's lease on a cell, as its next state says, before
// that is written; a renewal writes nothing. It is called with mu held. As in Azure, a
// renewal that comes late is accepted if nobody has taken the cell since.
func (s *sim) lease(at string, c *cell, to caslease.Value) (renewed bool, err error) {
	term := caslease.LeaseOf(to.State)
	if term.Nonce == "" {
		return false, nil
	}
	if term.Held && to.Silent {
		if c == nil || c.lease != term.Nonce {
			return false, refuse(causes.Ended, "the lease is not ours")
		}
		c.ends = time.Now().Add(term.TTL)
		return true, nil
	}
	if c == nil {
		c = &cell{created: s.clock()}
		s.cells[at] = c
	}
	c.lease, c.ends = term.Nonce, time.Now().Add(term.TTL)
	if !term.Held {
		c.lease = ""
	}
	return false, nil
}

// write is called with mu held. A write that changes nothing moves nothing.
func (s *sim) write(at string, to caslease.Value) {
	c := s.cells[at]
	if c == nil {
		c = &cell{created: s.clock()}
		s.cells[at] = c
	}
	before := *c
	if to.State != "" {
		c.State = to.State[:min(len(to.State), s.most())]
	}
	if to.State != "" && s.defect == "text-lost" {
		c.Record = nil
	}
	if to.Record != nil {
		c.Record, c.BadRecord = slices.Clone(to.Record), false
	}
	if c.writes > 0 && c.State == before.State && c.Record != nil == (before.Record != nil) && string(c.Record) == string(before.Record) {
		return
	}
	s.touch(at, c, to.Silent)
}

func (s *sim) touch(at string, c *cell, silent bool) {
	s.versions++
	c.writes++
	c.Version, c.Updated = fmt.Sprint("v", s.versions), s.clock()
	switch s.defect {
	case "version-by-cell":
		c.Version = fmt.Sprint("v", c.writes)
	case "version-by-content":
		c.Version = fmt.Sprintf("%q%q", c.State, c.Record)
	case "stamp-of-creation":
		c.Updated = c.created
	}
	if !silent {
		s.notify(at)
	}
}

func (s *sim) most() int {
	if s.defect == "states-are-cut" {
		return caslease.MaxState - 1
	}
	return 1 << 20
}

// The methods of an operator do not meet the faults.

// Cell returns a cell, and whether it exists.
func (s *sim) Cell(at string) (caslease.Cell, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.cells[at]
	if !ok {
		return caslease.Cell{}, false
	}
	return c.Cell, true
}

// Edit changes a cell, or creates it.
func (s *sim) Edit(at string, edit func(*caslease.Cell)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[at]
	if c == nil {
		c = &cell{created: s.clock()}
		s.cells[at] = c
	}
	edit(&c.Cell)
	s.touch(at, c, false)
}

// SetState overwrites the state of a cell.
func (s *sim) SetState(at, state string) {
	s.Edit(at, func(c *caslease.Cell) { c.State = state })
}

// Delete deletes a cell, if it exists.
func (s *sim) Delete(at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cells, at)
	s.notify(at)
}

// Age makes a cell's last change older by d.
func (s *sim) Age(at string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cells[at].Updated = s.cells[at].Updated.Add(-d)
}

// under returns the ids of all cells that begin with prefix.
func (s *sim) under(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.cells)), func(at string) bool { return !strings.HasPrefix(at, prefix) })
}

// A client is a [caslease.Store] of the server.
type client struct {
	*sim
	path   *lockstest.Path
	prefix string
	old    map[caslease.Key]caslease.Cell // what was read, for the defect "reads-lag"
}

func (s *sim) client(host, prefix string) *client {
	return &client{s, s.pathTo(host), prefix, map[caslease.Key]caslease.Cell{}}
}

// Rest implements [caslease.Rester].
func (c *client) Rest() { c.rested.Add(1) }

// do makes a request.
func (c *client) do(ctx context.Context, r Request, effect func() (caslease.Cell, error)) (result caslease.Cell, err error) {
	if err := pass(ctx); err != nil {
		return caslease.Cell{}, err
	}
	r.At = time.Now()
	c.Note(r)
	f := c.Judge(r)
	locked := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		result, err = effect()
		if f.Twice {
			result, err = effect()
		}
		if c.Fault(err).Kind == causes.Changed {
			c.Note(Request{Verb: "refused", Refused: true})
		}
		if f.Answer != nil && err == nil {
			f.Answer(&result)
		}
	}
	switch {
	case f.Drop:
		return caslease.Cell{}, refuse(causes.Unknown, "the connection was closed")
	case f.Err != nil:
		return caslease.Cell{}, f.Err
	case f.Late != nil:
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-f.Late
			locked()
		}()
		select {
		case <-done:
			return result, err
		case <-ctx.Done():
			return caslease.Cell{}, ctx.Err()
		}
	}
	if e := c.path.Do(ctx, locked); e != nil {
		return caslease.Cell{}, e
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-ctx.Done():
			return caslease.Cell{}, ctx.Err()
		}
	}
	if f.LoseReply && c.defect == "lost-is-success" {
		return result, nil
	}
	if f.LoseReply {
		return caslease.Cell{}, refuse(causes.Unknown, "the connection was closed")
	}
	if e := pass(ctx); e != nil {
		return caslease.Cell{}, e
	}
	return result, err
}

// pass takes the time that a request or an answer needs.
func pass(ctx context.Context) error {
	t := time.NewTimer(latency)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	return c.do(ctx, Request{Verb: "read", Key: k}, func() (caslease.Cell, error) {
		if c.defect == "absent-is-an-error" && c.cells[c.id(k)] == nil {
			return caslease.Cell{}, refuse(causes.Refused, "there is no such cell")
		}
		shown := c.show(c.id(k))
		if c.defect == "reads-lag" && c.old[k].Version != "" && rand.IntN(4) == 0 {
			return c.old[k], nil
		}
		if c.defect == "reads-lag" {
			c.old[k] = shown
		}
		return shown, nil
	})
}

func (c *client) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	verb := "swap"
	if at.Version == "" {
		verb = "create"
	}
	return c.do(ctx, Request{Verb: verb, Key: k, Value: to}, func() (caslease.Cell, error) { return c.swap(c.id(k), at.Version, to) })
}

func (c *client) Delete(ctx context.Context, k caslease.Key, at caslease.Cell) error {
	_, err := c.do(ctx, Request{Verb: "delete", Key: k}, func() (caslease.Cell, error) {
		if is := c.cells[c.id(k)]; is == nil || is.Version != at.Version && c.defect != "delete-ignores-version" {
			return caslease.Cell{}, refuse(causes.Changed, "the cell has changed")
		}
		delete(c.cells, c.id(k))
		c.notify(c.id(k))
		return caslease.Cell{}, nil
	})
	return err
}

func (c *client) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	_, err = c.do(ctx, Request{Verb: "list"}, func() (caslease.Cell, error) {
		leases := id(c.prefix, caslease.Key{})
		if c.defect == "list-has-requests" {
			leases = id(c.prefix, caslease.Key{Part: caslease.Request})
		}
		for _, at := range slices.Sorted(maps.Keys(c.cells)) {
			name, ok := strings.CutPrefix(at, leases)
			switch {
			case !ok || name <= cursor:
			case len(page) == locks.MaxList:
				next = page[len(page)-1].Name
				if c.defect == "list-is-one-page" {
					next = ""
				}
				return caslease.Cell{}, nil
			case len(name) <= locks.MaxCursor:
				page = append(page, caslease.ListedCell{Name: name, Cell: c.show(at)})
			}
		}
		return caslease.Cell{}, nil
	})
	return page, next, err
}

func (c *client) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	one := locks.Server{Address: "sim", RTT: 2 * latency}
	if e := insist(ctx, func(ctx context.Context) error {
		_, err := c.Read(ctx, caslease.Key{Name: "x"})
		return err
	}); e != nil {
		one = locks.Server{Address: "sim", Error: e.Err.Error(), Class: "unavailable"}
	}
	return locks.Servers{Product: "sim", Servers: []locks.Server{one}}, nil
}

func (c *client) Fault(err error) causes.Fault {
	if c.defect == "all-is-unknown" {
		return causes.Fault{Text: err.Error()}
	}
	if e, ok := errors.AsType[*answer](err); ok {
		return causes.Fault{Kind: e.kind, Text: e.text, Hint: "it is simulated"}
	}
	if errors.Is(err, locks.ErrUnavailable) {
		return causes.Fault{Kind: causes.Unreachable, Text: "connection refused", Hint: "it is simulated"}
	}
	return causes.Fault{}
}

func (c *client) Close() error { return nil }

// A watchingClient is a client that is a Watcher.
type watchingClient struct{ *client }

// A watcher is one Watch.
type watcher struct {
	path    *lockstest.Path
	about   string // what the ids of the watched cells begin with
	changed chan struct{}
	ctx     context.Context
	end     context.CancelFunc
}

func (c watchingClient) Watch(ctx context.Context, name string) (<-chan struct{}, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{c.path, c.prefix + "|", make(chan struct{}, 1), ctx, cancel}
	if name != "" {
		w.about = id(c.prefix, caslease.Key{Name: name})
	}
	_, err := c.do(ctx, Request{Verb: "watch"}, func() (caslease.Cell, error) {
		c.watchers[w] = true
		return caslease.Cell{}, nil
	})
	if err != nil {
		cancel()
		return nil, err
	}
	changes := make(chan struct{}, 1)
	go func() {
		defer close(changes)
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.watchers, w)
		}()
		for {
			select {
			case <-w.changed:
			case <-ctx.Done():
				return
			}
			if c.path.Do(ctx, func() {}) != nil {
				return
			}
			workers.Poke(changes)
		}
	}()
	return changes, nil
}

// notify wakes the watchers of a cell. It is called with mu held.
func (s *sim) notify(at string) {
	prefix, name, _ := strings.Cut(at, "|")
	if s.defect == "deletions-are-silent" && s.cells[at] == nil {
		return
	}
	for w := range s.watchers {
		_, name, _ := strings.Cut(name, "|")
		if w.about == prefix+"|" || w.about == id(prefix, caslease.Key{Name: name}) {
			workers.Poke(w.changed)
		}
	}
}

// pathTo returns the connection of the clients whose URL names a host.
func (s *sim) pathTo(host string) *lockstest.Path {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths[host] == nil {
		s.paths[host] = new(lockstest.Path)
	}
	return s.paths[host]
}

// sever cuts a connection. If it is reset, watches over it end.
func (s *sim) sever(p *lockstest.Path, how lockstest.Cut) (heal func()) {
	heal = p.Cut(how)
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if w.path == p && how == lockstest.CutReset {
			w.end()
		}
	}
	return heal
}

func (s *sim) traits() caslease.Traits {
	return caslease.Traits{
		Clock: clock.Bubble{}, Follows: s.follows, ReadsEarly: s.early, Expiry: s.expiry, Disciplined: s.trusted, Margin: time.Second, Pace: time.Second, Poll: 2 * time.Second, LongestPoll: s.longest,
		Product: "the sim", Backend: "sim://", Cell: "cell", Record: "a record", Version: "version", Updated: "stamp", Probed: "the store of",
		Where:      func(k caslease.Key) string { return "of " + k.Name },
		HintRecord: "delete the record", HintUnmoved: "use another", HintSilent: "it is silent",
	}
}

func (s *sim) store(host, prefix string) caslease.Store {
	if c := s.client(host, prefix); !s.watched {
		return c
	}
	return watchingClient{s.client(host, prefix)}
}

// open implements [locks.Opener].
func (s *sim) open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	store := s.store(u.Host, strings.Trim(u.Path, "/"))
	return caslease.New(store, s.traits(), o), nil
}

// url returns a URL with a prefix that nobody else uses.
func (s *sim) url(testing.TB) *url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return &url.URL{Scheme: "sim", Host: fmt.Sprint("host", s.serial), Path: fmt.Sprint("/", s.serial)}
}
