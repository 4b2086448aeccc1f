package helper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Lock is a locks.Lock whose backend runs in a helper program. After Release the helper
// has ended, and the methods of its abilities return errors.
type Lock struct {
	programs *Programs
	scheme   string
	open     request // the first request to each helper
	where    locks.Error
	clean    func(string) string
	log      *slog.Logger
	report   func(locks.Waiting)
	lost     chan error  // holds at most one
	asked    chan []byte // holds the last

	at     atomic.Pointer[session] // with the latest helper
	mu     sync.Mutex              // for what replaces it
	closed bool
}

// maxPending is how many requests may wait for an answer. A campaign or a term needs a
// few; the others were given up but the helper has not answered them. Any pipe has room
// for so many lines, for those that give them up, and for one that has a text, of 25 KiB
// if each of its bytes is escaped: a write does not block even if the helper does not
// read. (Only open can be too long for that. The time limit for its answer bounds that as
// well.)
const maxPending = 16

// lateAnswer is how long we still wait for the answer to a request after its deadline. The
// helper has the same deadline, and reports a moment later why it was missed.
const lateAnswer = 20 * time.Millisecond

// A session is the core's end of the pipe to one run of the helper program: it pairs answers
// with requests and checks each line. The first error ends it for good.
type session struct {
	scheme  string
	where   locks.Error // backend and name for errors
	methods map[string]*method
	clean   func(string) string // applied to a text before it is shown
	process *process            // nil in tests without one
	gone    chan struct{}       // closed when the process is reaped and its output read
	lost    chan error          // holds at most one
	asked   chan []byte         // holds the last
	texts   workers.Turn        // for the requests that may be long
	greeted chan struct{}       // closed when hello has arrived, or never will
	ready   chan struct{}       // closed when open has been answered, or never will be
	out     lines
	in      io.Closer // the pipe of out

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
	served   bool         // the helper has done more than open
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
	gaveUp bool // nobody waits for the answer

	waiting chan locks.Waiting // the latest report; nil unless an acquire may wait
	watch   *watch             // only for watch
	done    chan struct{}      // closed when the answer has arrived: err, or one of the fields below
	result  result
	page    []locks.Listed // of list
	err     error
}

func newSession(scheme string, where locks.Error, in io.WriteCloser) *session {
	s := &session{
		scheme:  scheme,
		where:   where,
		methods: methods(),
		clean:   plain,
		gone:    make(chan struct{}),
		lost:    make(chan error, 1),
		asked:   make(chan []byte, 1),
		texts:   workers.NewTurn(),
		greeted: make(chan struct{}),
		ready:   make(chan struct{}),
		in:      in,
		pending: map[int64]*pending{},
	}
	s.out = lines{w: in, broken: func(err error) { s.fail(fmt.Errorf("tell leaderrun-%s: %w", scheme, err)) }}
	return s
}

// call makes a call and waits for its answer. If it returns an error, the pending has no
// result.
func (l *Lock) call(ctx context.Context, r request) (*pending, error) {
	p, err := l.at.Load().send(ctx, r)
	if err != nil {
		if p, err = l.serving().send(ctx, r); err != nil {
			return new(pending), err
		}
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !closedWithin(p.done, lateAnswer) {
			p.session.giveUp(p)
			if r.Method == methodRenew {
				time.AfterFunc(withdrawTimeout, func() { p.session.endIfHung(p) })
			}
			return new(pending), p.session.failed(r.Method, nil, ctx.Err())
		}
	}
	if p.err != nil {
		return new(pending), p.outcome(ctx)
	}
	return p, nil
}

// send writes a request. Its answer closes the channel of the pending.
func (s *session) send(ctx context.Context, r request) (*pending, error) {
	p := &pending{session: s, method: s.methods[r.Method], done: make(chan struct{})}
	switch {
	case ctx.Err() != nil, p.method.long && s.texts.Take(ctx) != nil:
		return nil, s.failed(r.Method, nil, ctx.Err())
	case r.Method == methodAcquire && !r.Try:
		p.waiting = make(chan locks.Waiting, 1)
	case r.Method == methodWatch:
		p.watch = newWatch()
	}
	if deadline, ok := ctx.Deadline(); ok {
		r.Timeout = max(time.Until(deadline), 1)
	}
	s.mu.Lock()
	if s.err != nil || len(s.pending) == maxPending {
		defer s.mu.Unlock()
		return nil, s.refuse(p)
	}
	s.last++
	p.id = s.last
	s.pending[p.id] = p
	s.mu.Unlock()
	r.ID = json.RawMessage(strconv.FormatInt(p.id, 10))
	s.out.write(r)
	return p, nil
}

// read takes the helper's lines until they end, which is io.EOF, or one is invalid.
func (s *session) read(r io.Reader) error {
	lines := bufio.NewReaderSize(r, maxLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			if err := lineError(line, err); errors.Is(err, errLineTooLong) || errors.Is(err, errHalfLine) {
				return fmt.Errorf("leaderrun-%s sent %w", s.scheme, err)
			}
			return io.EOF // a closed or broken pipe is an end like any other
		}
		// The message leaves the line out: it may be an echo of the URL, with its
		// password.
		var m message
		if json.Unmarshal(line, &m) != nil {
			return fmt.Errorf("leaderrun-%s sent line %d, which is not a message of the protocol", s.scheme, n)
		}
		if err := s.take(&m); errors.As(err, new(openFailure)) {
			s.end(err)
			return io.EOF
		} else if err != nil {
			return fmt.Errorf("leaderrun-%s sent line %d: %w", s.scheme, n, err)
		}
	}
}

// take checks a message from the helper and passes it to the caller that waits for it. An
// error is a violation of the protocol.
func (s *session) take(m *message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err // messages after the end are ignored
	}
	if m.Event != "" || s.stage == started {
		return s.takeEvent(m)
	}
	id, _ := strconv.ParseInt(string(m.ID), 10, 64) // 0 if it is not a number
	p := s.pending[id]
	switch {
	case p == nil:
		return errors.New("an answer to no request")
	case (m.Result == nil) == (m.Error == nil):
		return errors.New("an answer that is not either a result or an error")
	case m.Error != nil:
		if err := s.takeError(p, m.Error); err != nil {
			return err
		}
	case s.stage != opened && p.method.name != methodOpen:
		return errors.New("success before open was answered")
	case p.method.take != nil:
		if err := p.method.take(p, m.Result); err != nil {
			return err
		}
	}
	if m.Result != nil {
		p.result, s.served = *m.Result, p.method.name != methodOpen
	}
	if p.method.long || p.watch != nil {
		p.finish()
	}
	delete(s.pending, id)
	close(p.done)
	return nil
}

// takeError takes the answer to a request that has failed.
func (s *session) takeError(p *pending, w *wireError) error {
	if w.Status != nil && !sane(*w.Status) {
		return errors.New("an invalid status")
	}
	p.err = s.fromWire(p.method.name, w)
	switch p.method.name {
	case methodOpen:
		return openFailure{p.err}
	case methodAcquire:
		s.place = ""
	case methodRenew:
		if p.gaveUp && errors.Is(p.err, locks.ErrLost) {
			s.lose(p.err) // no other call would report it
		}
	}
	return nil
}

// finish ends what depends on a request that was answered; mu is held.
func (p *pending) finish() {
	p.watch.end()
	if p.method.long {
		p.session.texts.Leave()
	}
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
		s.out.write(request{ID: json.RawMessage(strconv.FormatInt(p.id, 10)), Method: methodCancel})
	}
}
