package output

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
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

// A Term prints for people, or as JSON.
type Term struct {
	file    *os.File
	sink    *Sink
	logFile *Sink        // where messages go; nil: to sink
	log     *slog.Logger // once the options are known
	wait    *WaitLine    // once there is something to wait for
	json    bool
	journal bool // file is systemd's journal
	term    termAttrs
}

// Settings say which messages are printed, and how.
type Settings struct {
	Verbose int // 1: what happens; 2: every renewal, too
	Quiet   bool
	JSON    bool

	Lock, Backend, Holder string // what each message has as JSON; a password is left out
}

// NewTerm makes a Term that prints to w, which may be a terminal.
func NewTerm(w io.Writer) *Term {
	f, _ := w.(*os.File)
	return &Term{file: f, sink: NewSink(w), journal: f != nil && isJournal(f)}
}

// LogTo has messages go to a file, if one is named.
func (t *Term) LogTo(name string) error {
	if name == "" {
		return nil
	}
	s, err := appendTo(name)
	if err != nil {
		return locks.Usagef("--log-file: %v", err)
	}
	t.logFile = s
	return nil
}

// messages is where they go.
func (t *Term) messages() *Sink {
	if t.logFile != nil {
		return t.logFile
	}
	return t.sink
}

// Start makes the logger that the settings ask for, once, before anybody may log.
func (t *Term) Start(s Settings) *slog.Logger {
	at := slog.LevelWarn
	switch {
	case s.Quiet:
		at = slog.LevelError
	case s.Verbose == 1:
		at = slog.LevelInfo
	case s.Verbose > 1:
		at = slog.LevelDebug
	}
	t.json = s.JSON
	t.log = t.loggerAt(at, s)
	return t.log
}

// Started reports whether there is a logger.
func (t *Term) Started() bool { return t.log != nil }

// Log returns the logger.
func (t *Term) Log() *slog.Logger { return t.log }

// loggerAt makes a logger of what is at least as grave.
func (t *Term) loggerAt(at slog.Level, s Settings) *slog.Logger {
	if !t.json {
		return slog.New(&lines{out: t, level: at, journal: t.isJournal()})
	}
	h := slog.NewJSONHandler(t.messages(), &slog.HandlerOptions{Level: at, ReplaceAttr: spellDurations})
	return slog.New(&keyed{Handler: h, term: &t.term}).With("lock", s.Lock, "backend", locks.RedactText(s.Backend), "holder", s.Holder)
}

// Event learns from a transition what each message is to have.
func (t *Term) Event(e event.Event) { t.term.event(e) }

// isJournal reports whether messages go to systemd's journal.
func (t *Term) isJournal() bool { return t.journal && t.logFile == nil }

// spellDurations writes durations and errors as text: "15s".
func spellDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Fail prints an error and its hint.
func (t *Term) Fail(err error) {
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

// Info prints what only -v shows.
func (t *Term) Info(text string) {
	if t.log != nil {
		t.log.Info(text) //nolint:sloglint // here, too
	}
}

// line prints a line of an error.
func (t *Term) line(text string) {
	_, _ = io.WriteString(t, journalPrefix(t.isJournal(), slog.LevelError)+"leaderrun: "+text+"\n")
}

// Write prints whole lines, in the place of the wait line if there is one. It
// never blocks.
func (t *Term) Write(p []byte) (int, error) {
	if t.logFile != nil {
		return t.logFile.Write(p)
	}
	_, err := t.sink.Write(append(t.wait.cover(), p...))
	return len(p), err
}

// Drain waits, for a limited time, until all so far is printed.
func (t *Term) Drain() {
	for _, s := range []*Sink{t.logFile, t.sink} {
		if s != nil {
			_, _ = s.Write(nil)
			s.Drain(sinkFlush)
		}
	}
}

// Flush waits, for a limited time, until all is printed. It is the end.
func (t *Term) Flush() {
	if t.logFile != nil {
		t.logFile.Close()
	}
	t.sink.Close()
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
