package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// maxPending is how many requests may wait for an answer. A campaign or a term needs a
// few; the others were given up but the helper has not answered them. Any pipe has room
// for so many lines, for those that give them up, and for one that has a text, of 25 KiB
// if each of its bytes is escaped: a write does not block even if the helper does not
// read. (Only open can be too long for that. The time limit for its answer bounds that as
// well.)
const maxPending = 16

// A session is the core's end of the pipe: it pairs answers with requests and checks each
// line. The first error ends it for good.
type session struct {
	scheme  string
	where   locks.Error // backend and name for errors
	methods table
	clean   func(string) string // applied to a text before it is shown
	kill    func()              // ends the helper
	lost    chan error          // holds at most one
	asked   chan []byte         // holds the last
	texts   turn                // for the requests that may be long
	greeted chan struct{}       // closed when hello has arrived, or never will
	ready   chan struct{}       // closed when open has been answered, or never will be

	wmu  sync.Mutex // one line at a time
	in   io.WriteCloser
	over bool // nothing more is written

	mu       sync.Mutex
	stage    stage
	last     int64              // id
	pending  map[int64]*pending // by id
	version  string             // of the helper, as its hello said
	secrets  []string
	can      []locks.Ability
	location string
	grant    *locks.Grant // of the acquire that succeeded
	term     string       // by which another session can continue; "" if none can
	place    string       // the same for the place in the queue, while an acquire waits
	served   bool         // an acquire or a renewal has succeeded
	watching *pending     // the last watch request
	settled  bool         // a release was requested, or the loss reported
	doubt    bool         // the session ended before an acquire was answered
	err      error        // why the session ended
}

// A stage is how far the start of a session has come.
type stage int

const (
	started stage = iota
	greeted       // hello has arrived
	opened        // and open has been answered
)

// A pending is a request that waits for its answer.
type pending struct {
	session *session

	id     int64
	method *method
	try    bool
	gaveUp bool // nobody waits for the answer

	waiting chan locks.Waiting // the latest report for a waiting acquire
	watch   *watch             // only for watch
	done    chan struct{}      // closed when the answer has arrived: err, or one of the fields below
	result  result
	page    []locks.Listed // of list
	err     error
}

func newSession(scheme string, where locks.Error, in io.WriteCloser) *session {
	return &session{
		scheme:  scheme,
		where:   where,
		methods: methods(),
		clean:   plain,
		kill:    func() {},
		lost:    make(chan error, 1),
		asked:   make(chan []byte, 1),
		texts:   make(turn, 1),
		greeted: make(chan struct{}),
		ready:   make(chan struct{}),
		in:      in,
		pending: map[int64]*pending{},
	}
}

// hurry ends the session unless hello arrives within the limit, and the answer to open
// within the limit and a moment more after that. It returns when open has been answered
// or the session has ended.
func (s *session) hurry(limit time.Duration) {
	switch {
	case !closedWithin(s.greeted, limit):
		s.fail(fmt.Errorf("leaderrun-%s did not send hello within %v", s.scheme, limit))
	case !closedWithin(s.ready, limit+withdrawTimeout):
		s.fail(fmt.Errorf("leaderrun-%s did not answer open", s.scheme))
	}
}

// send writes a request. Its answer closes the channel of the pending.
func (s *session) send(ctx context.Context, r request) (*pending, error) {
	m := s.methods.named(r.Method)
	p := &pending{session: s, method: m, try: r.Try, waiting: make(chan locks.Waiting, 1), done: make(chan struct{})}
	if r.Method == methodWatch {
		p.watch = newWatch()
	}
	if err := s.register(p); err != nil {
		if m.long() {
			s.texts.leave()
		}
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		r.Timeout = max(time.Until(deadline), 1)
	}
	s.write(p.id, r)
	return p, nil
}

// answered wakes the caller that waits for an answer; mu is held.
func (s *session) answered(p *pending) {
	close(p.done)
	p.watch.end()
	if p.method.long() {
		s.texts.leave()
	}
}

// verb returns a method's name for errors.
func verb(method string) string { return strings.ReplaceAll(method, "_", " ") }

// failed returns the error of a call.
func failed(where locks.Error, method string, class, err error) *locks.Error {
	where.Op, where.Class, where.Err = verb(method), class, err
	return &where
}

func (s *session) register(p *pending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.failure(p.method.name)
	}
	if len(s.pending) == maxPending {
		return s.unavailable(p.method.name, fmt.Errorf("leaderrun-%s does not answer", s.scheme))
	}
	s.last++
	p.id = s.last
	s.pending[p.id] = p
	return nil
}

// write sends a line, or ends the session if that is impossible.
func (s *session) write(id int64, r request) {
	r.ID = json.RawMessage(strconv.FormatInt(id, 10))
	line, err := encode(r)
	if err != nil {
		s.fail(fmt.Errorf("tell leaderrun-%s to %s: %w", s.scheme, r.Method, err))
		return
	}
	s.wmu.Lock()
	defer s.wmu.Unlock()
	if s.over {
		return
	}
	// An error means that the helper is gone; its output says more about that.
	_, _ = s.in.Write(line)
}

// giveUp tells the helper that nobody waits for an answer any more.
func (s *session) giveUp(p *pending) {
	s.mu.Lock()
	again := p.gaveUp
	p.gaveUp = true
	p.watch.end()
	_, unanswered := s.pending[p.id]
	s.mu.Unlock()
	if unanswered && !again {
		s.write(p.id, request{Method: methodCancel})
	}
}

// read takes the helper's lines until they end, which is io.EOF, or one is invalid.
func (s *session) read(r io.Reader) error {
	lines := newLines(r)
	for n := 1; lines.Scan(); n++ {
		// The message leaves the line out: it may be an echo of the URL, with its
		// password.
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return fmt.Errorf("leaderrun-%s sent line %d, which is not a message of the protocol", s.scheme, n)
		}
		if err := s.take(&m); errors.As(err, new(openFailure)) {
			s.end(err)
			return io.EOF
		} else if err != nil {
			return fmt.Errorf("leaderrun-%s sent line %d: %w", s.scheme, n, err)
		}
	}
	switch err := lineError(lines); {
	case errors.Is(err, errLineTooLong), errors.Is(err, errHalfLine):
		return fmt.Errorf("leaderrun-%s sent %w", s.scheme, err)
	default: // a closed or broken pipe is an end like any other
		return io.EOF
	}
}

// The reasons why a session ends when nothing went wrong.
var (
	errReleased = errors.New("the lock was released")
	errClosed   = errors.New("the lock was closed")
)

// fail ends the session and the helper.
func (s *session) fail(err error) {
	if s.end(err) {
		s.kill()
	}
}

// end ends the session: pending and later calls return err. It reports whether this was
// what ended the session.
func (s *session) end(err error) bool {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return false
	}
	s.err = err
	for id, p := range s.pending {
		delete(s.pending, id)
		s.doubt = s.doubt || p.method.name == methodAcquire && !errors.As(err, new(openFailure))
		p.err = s.failure(p.method.name)
		s.answered(p)
	}
	if s.stage == started {
		close(s.greeted)
	}
	if s.stage != opened {
		close(s.ready)
	}
	if s.grant != nil && s.grant.TTL == 0 && !errors.Is(err, errClosed) {
		// A lock without a lease lasts as long as its helper, and no deadline would ever
		// reveal the loss.
		s.lose(&remoteError{class: locks.ErrLost, text: err.Error()})
	}
	// We keep our end of the pipe if the next helper reads what this one has not, or if the
	// guard of a job that is about to start gets it.
	kept := s.hasTerm() || s.grant != nil && !errors.Is(err, errReleased) && !errors.Is(err, errClosed)
	s.mu.Unlock()
	if kept {
		s.kill()
	} else {
		_ = s.in.Close()
	}
	return true
}

// settle is called before a release: from now on a loss of the lock is not reported. It
// reports whether there is certainly nothing to release.
func (s *session) settle() (nothing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant != nil {
		s.settled = true
		return errors.Is(s.err, errReleased)
	}
	return s.err != nil && !s.doubt
}

// released ends a session after its release.
func (s *session) released() {
	s.mu.Lock()
	had := s.grant != nil
	s.mu.Unlock()
	if had {
		s.end(errReleased)
	}
}

// forget is called after a term whose grant was not delivered: the next acquire may begin
// another term.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant, s.term, s.settled = nil, "", false
	drain(s.asked)
	drain(s.lost) // it was lost before it was given back
}

// lose reports the loss of the lock; mu is held.
func (s *session) lose(err error) {
	if !s.settled {
		s.settled = true
		s.lost <- err
	}
}

// An openFailure ends a session whose open failed. Each call then returns that error as
// the backend made it.
type openFailure struct{ error }

// failure returns what a call returns once the session has ended.
func (s *session) failure(op string) error {
	var o openFailure
	if errors.As(s.err, &o) {
		return o.error
	}
	return s.unavailable(op, s.err)
}

func (s *session) unavailable(op string, err error) error {
	return failed(s.where, op, locks.ErrUnavailable, err)
}
