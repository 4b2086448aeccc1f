package cmd

import (
	"context"
	"errors"
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
// With --log-file all of it goes there instead, once that is open. If standard
// error is the journal of systemd, each line begins with its priority there,
// sd-daemon(3).
//
// A reader that stalls must not delay a kill: lines wait in a bounded queue
// and are dropped when that is full.

// A term prints for people, or as JSON.
type term struct {
	file    *os.File
	sink    *sink
	logFile *sink        // where messages go; nil: to sink
	log     *slog.Logger // once the options are known
	wait    *waitLine    // once there is something to wait for
	json    bool
	journal bool // file is systemd's journal
	term    termAttrs
}

func newTerm(f *os.File) *term {
	return &term{file: f, sink: newSink(f), journal: isJournal(f)}
}

// logTo has messages go to a file, if one is named.
func (t *term) logTo(name string) error {
	if name == "" {
		return nil
	}
	s, err := appendTo(name)
	if err != nil {
		return &locks.UsageError{What: "--log-file: " + err.Error()}
	}
	t.logFile = s
	return nil
}

// messages is where they go.
func (t *term) messages() *sink {
	if t.logFile != nil {
		return t.logFile
	}
	return t.sink
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
	t.log = t.loggerAt(at, o)
	return t.log
}

// loggerAt makes a logger of what is at least as grave.
func (t *term) loggerAt(at slog.Level, o *options) *slog.Logger {
	if !t.json {
		return slog.New(&lines{out: t, level: at, journal: t.isJournal()})
	}
	return t.jsonLogger(at, o.lock, locks.RedactText(o.backend), o.id)
}

func (t *term) jsonLogger(at slog.Level, lock, backend, holder string) *slog.Logger {
	h := slog.NewJSONHandler(t.messages(), &slog.HandlerOptions{Level: at, ReplaceAttr: spellDurations})
	return slog.New(&keyed{Handler: h, term: &t.term}).With("lock", lock, "backend", backend, "holder", holder)
}

// isJournal reports whether messages go to systemd's journal.
func (t *term) isJournal() bool { return t.journal && t.logFile == nil }

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
		t.log = t.jsonLogger(slog.LevelInfo, "", "", "") // what these are is not known
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

// line prints a line of an error.
func (t *term) line(text string) {
	_, _ = io.WriteString(t, journalPrefix(t.isJournal(), slog.LevelError)+"leaderrun: "+text+"\n")
}

// Write prints whole lines, in the place of the wait line if there is one. It
// never blocks.
func (t *term) Write(p []byte) (int, error) {
	if t.logFile != nil {
		return t.logFile.Write(p)
	}
	_, err := t.sink.Write(append(t.wait.cover(), p...))
	return len(p), err
}

// drain waits, for a limited time, until all so far is printed.
func (t *term) drain() {
	for _, s := range []*sink{t.logFile, t.sink} {
		if s != nil {
			_, _ = s.Write(nil)
			s.drain(sinkFlush)
		}
	}
}

// flush waits, for a limited time, until all is printed.
func (t *term) flush() {
	if t.logFile != nil {
		t.logFile.close()
	}
	t.sink.close()
}

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
	out     io.Writer
	level   slog.Level
	journal bool
	attrs   []slog.Attr
}

func (h *lines) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(journalPrefix(h.journal, r.Level) + "leaderrun: ")
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
			b.WriteString(" " + a.Key + "=" + strings.ReplaceAll(a.Value.String(), "\n", "; ")) // a line is one message
		}
		return true
	}
	for _, a := range h.attrs {
		show(a)
	}
	r.Attrs(show)
	b.WriteString(cause + "\n")
	if hint != "" && r.Level >= slog.LevelWarn {
		b.WriteString(journalPrefix(h.journal, r.Level) + "leaderrun: hint: " + hint + "\n")
	}
	_, err := io.WriteString(h.out, b.String())
	return err
}

func (h *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lines{out: h.out, level: h.level, journal: h.journal, attrs: append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup is not used here; groups are flattened.
func (h *lines) WithGroup(string) slog.Handler { return h }
