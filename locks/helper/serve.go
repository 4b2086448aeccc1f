package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// linger bounds how long a helper may continue after its input has ended, to finish a
// release and to leave the queue.
const linger = 5 * time.Second

// maxCalls is how many requests may be under way at once. The core needs three, and may
// have given up a few more.
const maxCalls = 64

// A server is the helper's end of the pipe. It does not trust the core either: a line
// that the protocol does not allow ends the session.
type server struct {
	scheme string
	open   locks.Opener
	level  slog.LevelVar
	log    *slog.Logger

	secrets secrets // that no text may have

	wmu sync.Mutex // one line at a time
	out io.Writer

	opened  chan struct{} // closed when open has been answered, and the fields below are set
	openErr error
	reopen  func(context.Context) (locks.Lock, error)

	methods table
	answers map[string]answer
	turns   map[string]turn // of each method

	mu      sync.Mutex
	began   bool // open was requested
	handle  *handle
	calls   map[string]*call // under way, by id
	waiting chan message
	wg      sync.WaitGroup
	ended   chan struct{} // closed when the input has ended
}

// A call is a request under way.
type call struct {
	*request
	server *server
	cancel context.CancelFunc
	handle *handle // what the call is about, once it is its turn

	result  result
	granted *handle // what the call made ours, or nil
}

func newServer(scheme string, open locks.Opener, out, log io.Writer) *server {
	s := &server{
		scheme:  scheme,
		open:    open,
		out:     out,
		opened:  make(chan struct{}),
		methods: methods(),
		answers: answers(),
		turns:   map[string]turn{},
		handle:  newHandle(nil),
		calls:   map[string]*call{},
		ended:   make(chan struct{}),
	}
	for _, m := range s.methods {
		s.turns[m.name] = make(turn, 1)
	}
	s.level.Set(slog.LevelWarn)
	s.log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: &s.level, ReplaceAttr: s.secrets.logged}))
	return s
}

// serve answers requests until the input ends or is invalid; then it returns why. It
// releases nothing on its own.
func (s *server) serve(in io.Reader, version string) error {
	s.send(message{Event: eventHello, Protocol: []int{protocol}, Scheme: s.scheme, Version: version})
	lines := newLines(in)
	var err error
	for err == nil && lines.Scan() {
		err = s.line(lines.Bytes())
	}
	if err == nil {
		err = lineError(lines)
	}
	s.finish()
	return err
}

// line handles one line.
func (s *server) line(line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return errors.New("a line that is not a request") // the cause may quote a password
	}
	switch {
	case !validID(r.ID):
		return errors.New("a request without a usable id")
	case r.Timeout < 0:
		return errors.New("a negative time limit")
	case r.Method == methodCancel:
		s.cancel(string(r.ID))
		return nil
	}
	return s.start(&r)
}

// validID reports whether id is a JSON integer or string of at most 64 bytes.
func validID(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	if id[0] == '"' {
		return true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

// start runs a request concurrently with the others.
func (s *server) start(r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := string(r.ID)
	_, taken := s.calls[id]
	switch {
	case taken:
		return fmt.Errorf("two requests under way with the id %s", id)
	case len(s.calls) == maxCalls:
		return fmt.Errorf("more than %d requests at once", maxCalls)
	case s.began && r.Method == methodOpen:
		return errors.New("a second open")
	case !s.began && r.Method != methodOpen:
		return errors.New("a request before open")
	}
	s.began = true
	ctx, cancel := callContext(r.Timeout)
	c := &call{request: r, server: s, cancel: cancel}
	s.calls[id] = c
	s.wg.Go(func() {
		defer cancel()
		s.run(ctx, c)
	})
	return nil
}

func callContext(limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(context.Background(), limit)
	}
	return context.WithCancel(context.Background())
}

// run makes a call and answers it.
func (s *server) run(ctx context.Context, c *call) {
	m, err := message{Result: &c.result}, s.do(ctx, c)
	if err != nil {
		m = message{Error: toWire(err, s.secrets.hider())}
	}
	s.mu.Lock()
	delete(s.calls, string(c.ID))
	s.mu.Unlock()
	c.say(m)
	// What follows from the answer may only come now.
	if c.Method == methodOpen {
		s.openErr = err
		close(s.opened)
	}
	if c.granted != nil {
		s.watch(c.granted)
	}
}

// say sends a line about the call.
func (c *call) say(m message) {
	m.ID = c.ID
	c.server.send(m)
}

// cancel ends the context of a call. If it is not under way, it was answered while the
// core gave it up.
func (s *server) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.calls[id]; ok {
		c.cancel()
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

// send writes a line. An error would mean that the core is gone, but the end of the input
// says so too, and until then a release may still be requested.
func (s *server) send(m message) {
	line, err := encode(m)
	if err != nil {
		panic(err) // whatever a backend returns was made to fit
	}
	s.wmu.Lock()
	defer s.wmu.Unlock()
	_, _ = s.out.Write(line)
}

// A turn is a mutex whose wait ends with a context.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) leave() { <-t }
