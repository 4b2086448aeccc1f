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

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// maxCalls is how many requests may be under way at once. The core needs three, and may
// have given up a few more.
const maxCalls = 64

// A server is the helper's end of the pipe. It does not trust the core either: a line
// that the protocol does not allow ends the session.
type server struct {
	scheme  string
	open    locks.Opener
	level   slog.LevelVar
	log     *slog.Logger
	secrets secrets // that no text may have
	out     lines
	methods map[string]*method
	turns   map[string]workers.Turn // of each method

	opened  chan struct{} // closed when open has been answered, and the fields below are set
	openErr error
	lock    locks.Lock

	mu      sync.Mutex
	began   bool             // open was requested
	calls   map[string]*call // under way, by id
	waiting chan message     // the latest report of an acquire
	wg      sync.WaitGroup
	ended   chan struct{} // closed when the input has ended

	term     sync.Mutex // for events, and released
	granted  atomic.Bool
	released chan struct{} // closed when the lock was released after its grant
	losing   chan struct{} // from a renewal to watch, and back
	watched  chan struct{} // closed when watch has ended
}

// A call is a request under way.
type call struct {
	request
	server *server
	method *method // nil if it is unknown
	cancel context.CancelFunc

	result  result
	granted bool // the call has made the lock ours
}

func newServer(scheme string, open locks.Opener, out, log io.Writer) *server {
	s := &server{
		scheme:   scheme,
		open:     open,
		out:      lines{w: out, broken: func(err error) { panic(err) }}, // whatever a backend returns was made to fit
		methods:  methods(),
		turns:    map[string]workers.Turn{},
		opened:   make(chan struct{}),
		calls:    map[string]*call{},
		waiting:  make(chan message, 1),
		ended:    make(chan struct{}),
		released: make(chan struct{}),
		losing:   make(chan struct{}),
		watched:  make(chan struct{}),
	}
	for name := range s.methods {
		s.turns[name] = workers.NewTurn()
	}
	s.level.Set(slog.LevelWarn)
	s.log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: &s.level, ReplaceAttr: s.secrets.logged}))
	return s
}

// serve answers requests until the input ends or is invalid; then it returns why. It
// releases nothing on its own.
func (s *server) serve(in io.Reader, version string) error {
	s.out.write(message{Event: eventHello, Protocol: []int{protocol}, Scheme: s.scheme, Version: version})
	defer s.finish()
	for lines := bufio.NewReaderSize(in, maxLine); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return lineError(line, err)
		}
		c := &call{server: s}
		if json.Unmarshal(line, &c.request) != nil {
			return errors.New("a line that is not a request") // the cause may quote a password
		}
		if err := s.start(c); err != nil {
			return err
		}
	}
}

// start begins to make a call, concurrently with the others.
func (s *server) start(c *call) error {
	_, notNumber := strconv.ParseInt(string(c.ID), 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	other := s.calls[string(c.ID)]
	switch {
	case len(c.ID) == 0 || len(c.ID) > 64 || c.ID[0] != '"' && notNumber != nil:
		return errors.New("a request without a usable id")
	case c.Timeout < 0:
		return errors.New("a negative time limit")
	case c.Method == methodCancel && other == nil:
		return nil // it was answered while the core gave it up
	case c.Method == methodCancel:
		other.cancel()
		return nil
	case other != nil:
		return fmt.Errorf("two requests under way with the id %s", c.ID)
	case len(s.calls) == maxCalls:
		return fmt.Errorf("more than %d requests at once", maxCalls)
	case s.began && c.Method == methodOpen:
		return errors.New("a second open")
	case !s.began && c.Method != methodOpen:
		return errors.New("a request before open")
	}
	var ctx context.Context
	if ctx, c.cancel = context.WithCancel(context.Background()); c.Timeout > 0 {
		ctx, c.cancel = context.WithTimeout(context.Background(), c.Timeout)
	}
	s.began, c.method, s.calls[string(c.ID)] = true, s.methods[c.Method], c
	s.wg.Go(func() {
		defer c.cancel()
		s.run(ctx, c)
		if c.granted {
			s.watch()
		}
	})
	return nil
}

// run makes the call of the backend, once the lock is open and no other call of the same method
// is under way, and answers it. Open itself always runs.
func (s *server) run(ctx context.Context, c *call) {
	var err error
	over := ctx.Done()
	switch {
	case c.method == nil:
		err = &locks.UsageError{What: "unknown method " + strconv.Quote(locks.Abbreviate(c.Method))}
	case c.Method == methodOpen:
		over = nil
	default:
		select {
		case <-s.opened:
			err = s.openErr
		case <-over:
			err = ctx.Err()
		}
	}
	if turn := s.turns[c.Method]; err == nil {
		select {
		case turn <- struct{}{}:
			err = c.method.serve(ctx, c)
			turn.Leave()
		case <-over:
			err = ctx.Err()
		}
	}
	m := message{ID: c.ID, Result: &c.result}
	if err != nil {
		m = message{ID: c.ID, Error: toWire(err, s.secrets.hider())}
	}
	s.mu.Lock()
	delete(s.calls, string(c.ID))
	s.mu.Unlock()
	s.out.write(m)
	// What follows from the answer may only come now.
	if c.Method == methodOpen {
		s.openErr = err
		close(s.opened)
	}
}

// finish ends the calls under way after the input has ended. A release continues: whoever
// requested it knew that the job was dead.
func (s *server) finish() {
	close(s.ended)
	s.mu.Lock()
	for _, c := range s.calls {
		if c.Method != methodRelease {
			c.cancel()
		}
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	closedWithin(done, linger)
}
