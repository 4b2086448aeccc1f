package output

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
)

// What leaderrun prints, and where.
//
// Standard output belongs to the job, and to data that the user asked for. All else goes
// to standard error, one line per message. By default only problems are printed, because
// cron mails whatever is printed:
//
//	leaderrun: error: acquire "nightly" on etcd 127.0.0.1:2379: connection refused
//	leaderrun: hint: start the server, or name another one with --backend
//	leaderrun: warning: renewal failed, will retry: …
//	leaderrun: acquired token=17 ttl=15s                     (only with -v)
//
// With --log-file all of it goes to that file, once the file is open. If standard error is
// systemd's journal, each line begins with its priority, sd-daemon(3), and names the lock. In a
// regular file, which many jobs may share, a line has the time and the host as well:
//
//	2026-03-29T02:30:00+02:00 web1 leaderrun[nightly]: acquired token=17 ttl=15s
//
// A reader that stalls must not delay a kill: lines wait in a bounded queue, and are
// dropped when it is full.

// A Console prints messages for people, or as JSON.
type Console struct {
	runner.Unobserved

	file    *os.File
	sink    *Sink
	logFile *Sink                // where messages go; nil: to sink
	log     *slog.Logger         // nil until the options are known
	later   []func(*slog.Logger) // log what happened before
	wait    *WaitLine            // nil until there is something to wait for
	set     Settings
	journal bool                        // file is systemd's journal
	regular bool                        // messages go to a regular file
	host    string                      // our name for such files
	term    atomic.Pointer[[]slog.Attr] // attributes of the current term; nil: there is none
}

// Settings say which messages are printed, and how.
type Settings struct {
	Verbose int // 1: what happens; 2: also every renewal
	Quiet   bool
	JSON    bool

	Lock, Backend, ID string // attributes of each message in JSON; a password is removed
}

// NewConsole returns a Console that prints to w, which may be a terminal.
func NewConsole(w io.Writer) *Console {
	f, _ := w.(*os.File)
	c := &Console{file: f, sink: NewSink(w), journal: f != nil && isJournal(f)}
	c.dated(f)
	return c
}

// dated has lines begin with the time and the host if they go to a regular file.
func (c *Console) dated(f *os.File) {
	if f == nil {
		return
	}
	info, err := f.Stat()
	if c.regular = err == nil && info.Mode().IsRegular(); c.regular {
		c.host, _ = os.Hostname()
	}
}

// LogTo sends messages to a file, if the name is not empty.
func (c *Console) LogTo(name string) error {
	if name == "" {
		return nil
	}
	s, err := appendTo(name)
	if err != nil {
		return locks.Usagef("--log-file: %v", err)
	}
	c.logFile = s
	c.dated(s.w.w.(*os.File))
	return nil
}

// Later calls do with the logger as soon as there is one. It is called before Start.
func (c *Console) Later(do func(*slog.Logger)) { c.later = append(c.later, do) }

// Start makes the logger that the settings ask for. It is called once, before anything else
// may log.
func (c *Console) Start(s Settings) *slog.Logger {
	level := slog.LevelWarn
	switch {
	case s.Quiet:
		level = slog.LevelError
	case s.Verbose == 1:
		level = slog.LevelInfo
	case s.Verbose > 1:
		level = slog.LevelDebug
	}
	c.set = s
	c.log = c.newLogger(level, s)
	for _, do := range c.later {
		do(c.log)
	}
	return c.log
}

// Started reports whether there is a logger.
func (c *Console) Started() bool { return c.log != nil }

// Log returns the logger.
func (c *Console) Log() *slog.Logger { return c.log }

// newLogger returns a logger for records of a level and above.
func (c *Console) newLogger(level slog.Level, s Settings) *slog.Logger {
	h := &handler{out: c, level: level}
	if c.set.JSON {
		h.json = slog.NewJSONHandler(c, &slog.HandlerOptions{Level: level, ReplaceAttr: spellDurations})
		h.attrs = []slog.Attr{slog.String("lock", s.Lock), slog.String("backend", locks.RedactText(s.Backend)), slog.String("id", s.ID)}
	}
	return slog.New(h)
}

// Event keeps the attributes of the current term for messages in JSON.
func (c *Console) Event(e event.Event) {
	switch e.Kind {
	case event.Acquired:
		attrs := []slog.Attr{slog.Uint64("token", e.Token)}
		if e.Slot > 0 {
			attrs = append(attrs, slog.Int("slot", e.Slot))
		}
		c.term.Store(&attrs)
	case event.Rejoining:
		c.term.Store(nil)
	}
}

// spellDurations writes durations as text: "15s".
func spellDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Fail prints an error and its hint.
func (c *Console) Fail(err error) {
	hint := hintOf(err)
	if c.set.JSON {
		var args []any
		if hint != "" {
			args = append(args, "hint", hint)
		}
		c.log.Error(OneLine(err.Error()), args...) //nolint:sloglint // the error is the message
		return
	}
	c.line("error: " + OneLine(err.Error()))
	if hint != "" {
		c.line("hint: " + hint)
	}
}

// Info prints a message that only -v shows.
func (c *Console) Info(text string) {
	if c.log != nil {
		c.log.Info(text) //nolint:sloglint // the message is not constant
	}
}

// Note prints a line for people even without -v, but not with -q or as JSON.
func (c *Console) Note(text string) {
	if !c.set.Quiet && !c.set.JSON {
		_, _ = io.WriteString(c, c.prefix(slog.LevelInfo)+text+"\n")
	}
}

// line prints a line of an error.
func (c *Console) line(text string) { _, _ = io.WriteString(c, c.prefix(slog.LevelError)+text+"\n") }

// prefix returns the beginning of a line: our name and, if the line goes to a file or to
// systemd's journal, the lock. Before it the time and the host, or in the journal the priority,
// so that journalctl -p warning finds it.
func (c *Console) prefix(l slog.Level) string {
	const name = "leaderrun"
	of := name
	if c.set.Lock != "" {
		of += "[" + c.set.Lock + "]"
	}
	journal := c.journal && c.logFile == nil
	switch {
	case !journal && c.regular:
		return strings.TrimSpace(time.Now().Format(time.RFC3339)+" "+c.host) + " " + of + ": "
	case !journal:
		return name + ": "
	case l >= slog.LevelError:
		return "<3>" + of + ": "
	case l >= slog.LevelWarn:
		return "<4>" + of + ": "
	case l >= slog.LevelInfo:
		return "<6>" + of + ": "
	}
	return "<7>" + of + ": "
}

// Write prints whole lines, in place of the wait line if there is one. It never blocks.
func (c *Console) Write(p []byte) (int, error) {
	if c.logFile != nil {
		return c.logFile.Write(p)
	}
	_, err := c.sink.Write(append(c.wait.cover(), p...))
	return len(p), err
}

// Drain waits, for a limited time, until everything so far is printed.
func (c *Console) Drain() {
	for _, s := range []*Sink{c.logFile, c.sink} {
		if s != nil {
			_, _ = s.Write(nil)
			s.Drain(sinkFlush)
		}
	}
}

// Flush waits, for a limited time, until everything is printed, and ends the output.
func (c *Console) Flush() {
	if c.logFile != nil {
		c.logFile.Close()
		if err := c.logFile.Lost(); err != nil {
			onStderr := &Console{sink: c.sink, journal: c.journal}
			onStderr.dated(c.file)
			onStderr.Start(c.set).Warn("not all of --log-file could be written", "err", err)
		}
	}
	c.sink.Close()
}
