package helper

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// maxLogLine is how many bytes of one line of a helper's log are read.
const maxLogLine = 4 << 10

// maxLogRate is how many lines of a helper's log are passed on in a second. Others are
// only counted.
const maxLogRate = 100

// A forwarder passes a helper's standard error on to our log. It reads as fast as the
// helper writes, and keeps only one line.
type forwarder struct {
	log   *slog.Logger
	clean func(string) string

	second  time.Time // when the current second began
	lines   int       // passed on in that second
	dropped int
	panics  bool // the rest is a stack trace, which does not help users

	mu   sync.Mutex
	last []byte
}

func newForwarder(scheme string, log *slog.Logger, clean func(string) string) *forwarder {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &forwarder{log: log.With("helper", "leaderrun-"+scheme), clean: clean}
}

// start forwards until r ends, and then closes the channel.
func (f *forwarder) start(r io.Reader) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		f.forward(r)
	}()
	return done
}

// forward reads until r ends. It takes only the start of a line that is too long.
func (f *forwarder) forward(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxLogLine)
	rest := false
	for {
		line, err := lines.ReadSlice('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && !rest {
			f.line(line)
		}
		rest = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !rest {
			break
		}
	}
	f.reportDropped()
}

func (f *forwarder) line(line []byte) {
	f.note(line)
	if now := time.Now(); now.Sub(f.second) >= time.Second {
		f.reportDropped()
		f.second, f.lines = now, 0
	}
	if f.lines == maxLogRate {
		if !f.panics {
			f.dropped++
		}
		return
	}
	f.lines++
	f.emit(line)
}

// note remembers the line that best explains why a helper ended: its last or, of a panic,
// the first.
func (f *forwarder) note(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panics {
		return
	}
	f.panics = bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) || threads.Aborted(string(line))
	f.last = append(f.last[:0], line...)
}

func (f *forwarder) lastLines() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, msg, _, ok := parseRecord(f.last); ok {
		return f.clean(msg)
	}
	return f.clean(string(f.last[:min(len(f.last), 300)]))
}

func (f *forwarder) reportDropped() {
	if f.dropped > 0 {
		f.log.Warn("dropped lines of the helper's log", "lines", f.dropped)
		f.dropped = 0
	}
}

// emit logs a line: as a JSON record of package slog if it is one, else as a warning.
func (f *forwarder) emit(line []byte) {
	level, msg, fields, ok := parseRecord(line)
	if !ok {
		level, msg, fields = slog.LevelWarn, string(line), nil
		if f.panics && !bytes.HasPrefix(line, []byte("panic: ")) {
			level = slog.LevelDebug
		}
	}
	var attrs []slog.Attr
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		attrs = append(attrs, slog.String(f.clean(key), f.clean(text(fields[key]))))
	}
	f.log.LogAttrs(context.Background(), level, f.clean(msg), attrs...) //nolint:sloglint // the helper chose it
}

// parseRecord parses a line from a slog.JSONHandler.
func parseRecord(line []byte) (level slog.Level, msg string, fields map[string]json.RawMessage, ok bool) {
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &fields) != nil {
		return 0, "", nil, false
	}
	msg = text(fields[slog.MessageKey])
	if msg == "" || level.UnmarshalText([]byte(text(fields[slog.LevelKey]))) != nil {
		return 0, "", nil, false
	}
	for _, key := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey} {
		delete(fields, key)
	}
	return level, msg, fields, true
}

// text returns the value of a JSON string, or any other value as it is written.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.TrimSpace(string(raw))
}
