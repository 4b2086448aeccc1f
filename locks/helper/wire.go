package helper

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// protocol is the version of the protocol that this package speaks.
const protocol = 1

// maxLine is the limit of a line in bytes, including the newline.
const maxLine = 64 << 10

// maxTTL is the longest lease that a helper may report. The longest that the core asks
// for is 24 h, which a server may round up.
const maxTTL = 7 * 24 * time.Hour

// The methods of a request.
const (
	methodOpen    = "open"
	methodAcquire = "acquire"
	methodRenew   = "renew"
	methodRelease = "release"
	methodCancel  = "cancel"

	methodInspect   = "inspect"
	methodRecord    = "record"
	methodSetRecord = "set_record"
	methodAsk       = "ask"

	methodList   = "list"
	methodWatch  = "watch"
	methodBreak  = "break"
	methodProbe  = "probe"
	methodForget = "forget"
)

// The events that a helper reports.
const (
	eventHello   = "hello"
	eventWaiting = "waiting"
	eventLost    = "lost"
	eventAsked   = "asked"
	eventListed  = "listed"
	eventChanged = "changed"
)

// A request is a line from the core to the helper. The order of the fields is the order
// on the wire, on which a helper in shell may rely.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`

	Try     bool          `json:"try,omitempty"`        // acquire
	Timeout time.Duration `json:"timeout_ns,omitempty"` // any; 0 means no limit
	Token   uint64        `json:"token,omitempty"`      // ask, break
	Text    string        `json:"text,omitempty"`       // set_record, ask
	Cursor  string        `json:"cursor,omitempty"`     // list
	All     bool          `json:"all,omitempty"`        // watch

	// The fields below belong to open.
	Protocol       int           `json:"protocol,omitempty"`
	URL            string        `json:"url,omitempty"`
	Name           string        `json:"name,omitempty"`
	Holder         string        `json:"holder,omitempty"`
	TTL            time.Duration `json:"ttl_ns,omitempty"`
	ConnectTimeout time.Duration `json:"connect_timeout_ns,omitempty"`
	Version        string        `json:"version,omitempty"`
	RunID          string        `json:"run_id,omitempty"`
	LogLevel       string        `json:"log_level,omitempty"`
	Priority       int           `json:"priority,omitempty"`
	NoResign       bool          `json:"no_resign,omitempty"`
	Advertise      string        `json:"advertise,omitempty"`
	PID            int           `json:"pid,omitempty"`
	Term           string        `json:"term,omitempty"`
	Place          string        `json:"place,omitempty"`
}

// A message is a line from the helper to the core: an event, or the answer to the request
// with that id.
type message struct {
	Event string          `json:"event,omitempty"`
	ID    json.RawMessage `json:"id,omitempty"`

	Protocol []int  `json:"protocol,omitempty"` // hello
	Scheme   string `json:"scheme,omitempty"`   // hello
	Version  string `json:"version,omitempty"`  // hello

	Waiting *locks.Waiting `json:"waiting,omitempty"` // waiting
	Place   string         `json:"place,omitempty"`   // waiting
	Text    *string        `json:"text,omitempty"`    // asked
	Page    []listed       `json:"page,omitempty"`    // listed

	Result *result    `json:"result,omitempty"` // an answer has a result,
	Error  *wireError `json:"error,omitempty"`  // or an error, as lost has
}

// A result is that of a successful request. For most it is empty.
type result struct {
	SecretEnv []string        `json:"secret_env,omitempty"` // open
	Can       []locks.Ability `json:"can,omitempty"`        // open
	Location  string          `json:"location,omitempty"`   // open

	Token uint64        `json:"token,omitempty"` // acquire, as are the next fields
	TTL   time.Duration `json:"ttl_ns,omitempty"`
	Clean bool          `json:"clean,omitempty"`
	Term  string        `json:"term,omitempty"`

	State  *locks.State `json:"state,omitempty"`  // inspect
	Record *string      `json:"record,omitempty"` // record; nil if there is none

	Page    []listed       `json:"page,omitempty"` // list
	Next    string         `json:"next,omitempty"`
	Servers *locks.Servers `json:"servers,omitempty"` // probe
}

// grant returns the result of acquire.
func (r *result) grant() locks.Grant {
	return locks.Grant{Token: r.Token, TTL: r.TTL, Clean: r.Clean}
}

// value returns what p points at, or the zero value if p is nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// The errors of a line, or of the last line.
var (
	errLineTooLong = errors.New("a line longer than 64 KiB")
	errHalfLine    = errors.New("an incomplete last line")
)

// lineError returns what is wrong with the last of several lines, which was read with an error
// from a bufio.Reader of maxLine bytes, or nil if they have ended properly.
func lineError(line []byte, err error) error {
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return errLineTooLong
	case errors.Is(err, io.EOF) && len(line) > 0:
		return errHalfLine // its writer died while writing it
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// lines are what one end sends.
type lines struct {
	mu   sync.Mutex // one line at a time
	w    io.Writer
	over bool // nothing more is written

	broken func(error) // is told why something cannot be written as a line
}

// write sends a request or a message. An error of the pipe is ignored: then the other end is
// gone, and what it has sent, or its end, says more about that.
func (l *lines) write(v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a shell reads "&" more easily than "\u0026"
	err := e.Encode(v)
	if err == nil && b.Len() > maxLine {
		err = errLineTooLong
	}
	if err != nil {
		l.broken(err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		_, _ = l.w.Write(b.Bytes())
	}
}
