package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// What leaderrun prints, and where.
//
// Standard output belongs to the job, and to data that was asked for. All else
// goes to standard error, a line each, and by default that is only what went
// wrong, as cron mails whatever is printed:
//
//	leaderrun: error: acquire "nightly" on etcd 127.0.0.1:2379: connection refused
//	leaderrun: hint: start the server, or name another one with --backend
//	leaderrun: warning: renewal failed, will retry: …
//	leaderrun: acquired token=17 ttl=15s                     (only with -v)
//
// A reader that stalls must not delay a kill: lines wait in a bounded queue
// and are dropped when that is full.

// A term prints for people, or as JSON.
type term struct {
	file *os.File
	sink *sink
	log  *slog.Logger // once the options are known
	wait *waitLine    // once there is something to wait for
	json bool
}

func newTerm(f *os.File) *term {
	return &term{file: f, sink: newSink(f)}
}

// logger makes the logger that the options ask for.
func (t *term) logger(o *options) *slog.Logger {
	at := slog.LevelWarn
	switch {
	case o.quiet:
		at = slog.LevelError
	case o.verbose == 1:
		at = slog.LevelInfo
	case o.verbose > 1:
		at = slog.LevelDebug
	}
	t.json = o.logFormat.value == "json"
	if t.json {
		h := slog.NewJSONHandler(t.sink, &slog.HandlerOptions{Level: at, ReplaceAttr: spellDurations})
		t.log = slog.New(h).With("lock", o.lock, "backend", locks.RedactText(o.backend), "holder", o.id)
	} else {
		t.log = slog.New(&lines{out: t, level: at})
	}
	return t.log
}

// early makes a logger where an error came before the options were read, from
// what they would probably have said.
func (t *term) early(args []string) {
	json := os.Getenv("LEADERRUN_LOG_FORMAT") == "json"
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--log-format=")
		switch {
		case joined:
			json = value == "json"
		case arg == "--log-format" && i+1 < len(args):
			json = args[i+1] == "json"
		}
	}
	if t.json = json; json {
		t.log = slog.New(slog.NewJSONHandler(t.sink, nil))
	}
}

// spellDurations writes durations and errors as text: "15s".
func spellDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// fail prints an error and its hint.
func (t *term) fail(err error) {
	hint := hintOf(err)
	if t.json {
		var args []any
		if hint != "" {
			args = append(args, "hint", hint)
		}
		t.log.Error(oneLine(err.Error()), args...) //nolint:sloglint // the error is the message
		return
	}
	t.line("error: " + oneLine(err.Error()))
	if hint != "" {
		t.line("hint: " + hint)
	}
}

// info prints what only -v shows.
func (t *term) info(text string) {
	if t.log != nil {
		t.log.Info(text) //nolint:sloglint // here, too
	}
}

func (t *term) line(text string) { _, _ = io.WriteString(t, "leaderrun: "+text+"\n") }

// Write prints whole lines, in the place of the wait line if there is one. It
// never blocks.
func (t *term) Write(p []byte) (int, error) {
	_, err := t.sink.Write(append(t.wait.cover(), p...))
	return len(p), err
}

// drain waits, for a limited time, until all so far is printed.
func (t *term) drain() {
	_, _ = t.sink.Write(nil)
	t.sink.drain(sinkFlush)
}

// flush waits, for a limited time, until all is printed.
func (t *term) flush() { t.sink.close() }

// hinted is an error with a hint of cmd's own.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func hintOf(err error) string {
	var h *hinted
	if errors.As(err, &h) && h.hint != "" {
		return h.hint
	}
	return locks.Hint(err)
}

// oneLine joins the lines of an error of several, and puts into words what a
// context's end means to a user.
func oneLine(s string) string {
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		s = strings.ReplaceAll(s, end.Error(), "no answer in time")
	}
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ")
}

// lines is a slog.Handler that prints records as the text above shows.
type lines struct {
	out   io.Writer
	level slog.Level
	attrs []slog.Attr
}

func (h *lines) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("leaderrun: ")
	switch {
	case r.Level >= slog.LevelError:
		b.WriteString("error: ")
	case r.Level >= slog.LevelWarn:
		b.WriteString("warning: ")
	}
	b.WriteString(r.Message)
	var cause, hint string
	show := func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && a.Key == "err" {
			cause, hint = ": "+oneLine(err.Error()), hintOf(err)
		} else if a.Key == "err" {
			cause = ": " + oneLine(a.Value.String())
		} else {
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		}
		return true
	}
	for _, a := range h.attrs {
		show(a)
	}
	r.Attrs(show)
	b.WriteString(cause + "\n")
	if hint != "" && r.Level >= slog.LevelWarn {
		b.WriteString("leaderrun: hint: " + hint + "\n")
	}
	_, err := io.WriteString(h.out, b.String())
	return err
}

func (h *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lines{out: h.out, level: h.level, attrs: append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup is not used here; groups are flattened.
func (h *lines) WithGroup(string) slog.Handler { return h }
