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
)

// maxLogLine is how much of one line of a helper's log is looked at, in bytes.
const maxLogLine = 4 << 10

// maxLogRate is how many lines of a helper's log are passed on in a second;
// the others are only counted.
const maxLogRate = 100

// A forwarder passes a helper's standard error on to our log. It reads as fast
// as the helper writes, whatever that is, and keeps one line.
type forwarder struct {
	log   *slog.Logger
	clean func(string) string

	second  time.Time // when the current one began
	lines   int       // passed on in it
	dropped int
	panics  bool // what follows is a trace, which tells users nothing

	mu   sync.Mutex
	last []byte
}

func newForwarder(scheme string, log *slog.Logger, clean func(string) string) *forwarder {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &forwarder{log: log.With("helper", "leaderrun-"+scheme), clean: clean}
}

// start forwards until the end, when it closes the channel.
func (f *forwarder) start(r io.Reader) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		f.forward(r)
	}()
	return done
}

// forward reads until the end. Of a line that is too long it takes the start.
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
		f.dropped++
		return
	}
	f.lines++
	f.emit(line)
}

// note remembers the line that best says why a helper ended: its last, but of
// a panic the first.
func (f *forwarder) note(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panics {
		return
	}
	f.panics = bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: "))
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
		f.log.Warn("lines of the helper's log were left out", "lines", f.dropped)
		f.dropped = 0
	}
}

// emit logs a line: as what it is, if it is a JSON record of package slog, or
// as a warning.
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

// parseRecord takes a line of a slog.JSONHandler apart.
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

// text returns a JSON string's value, or any other value as it is written.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.TrimSpace(string(raw))
}
