package helper

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// A records keeps what is logged, one line each.
type records struct {
	block chan struct{} // if not nil, a record waits until this is closed

	mu    sync.Mutex
	lines []string
}

func (r *records) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (r *records) Write(line []byte) (int, error) {
	if r.block != nil {
		<-r.block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(line))
	return len(line), nil
}

func (r *records) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lines)
}

func (r *records) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) == 0 {
		return ""
	}
	return r.lines[len(r.lines)-1]
}

func (r *records) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "")
}

func TestForward(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a plain word\n\n \n":      `level=WARN msg="a plain word" helper=leaderrun-fake`,
		"no end":                   `level=WARN msg="no end" helper=leaderrun-fake`,
		"{\"level\":\"INFO\"}\n":   `level=WARN msg="{\"level\":\"INFO\"}" helper=leaderrun-fake`,
		"a\x1b[2J\xffb\n":          `level=WARN msg="a [2J b" helper=leaderrun-fake`,
		"the pass\tword is hush\n": `level=WARN msg="the pass word is xxxxx" helper=leaderrun-fake`,
		`{"time":"x","level":"DEBUG","msg":"renewed","n":1,"b":{"c":[ 1]},"a":"x\u001b"}` + "\n": `level=DEBUG msg=renewed helper=leaderrun-fake a="x " b="{\"c\":[ 1]}" n=1`,
		"panic: oh\n\ngoroutine 1:\n\tmain.go\n": `level=WARN msg="panic: oh" helper=leaderrun-fake
level=DEBUG msg="goroutine 1:" helper=leaderrun-fake
level=DEBUG msg=main.go helper=leaderrun-fake`,
	} {
		r := &records{}
		clean := func(s string) string { return plain(strings.ReplaceAll(s, "hush", "xxxxx")) }
		newForwarder("fake", r.logger(), clean).forward(strings.NewReader(in))
		if got := r.all(); got != want+"\n" {
			t.Errorf("of %q:\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":         "",
		"a\nb\n\n": "b",
		"a\x1b\n":  "a ",
		"a\npanic: b\n\ngoroutine 1 [running]:\n": "panic: b",
		"fatal error: all asleep\n\nx\n":          "fatal error: all asleep",
		`{"level":"ERROR","msg":"gave up","n":1}`: "gave up",
		strings.Repeat("x", 10_000):               strings.Repeat("x", 300),
	} {
		f := newForwarder("fake", nil, plain)
		f.forward(strings.NewReader(in))
		if got := f.lastLines(); got != want {
			t.Errorf("of %q: got %q, want %q", in, got, want)
		}
	}
}

// TestForwardMemory forwards a flood of short lines and one endless line. It is not
// parallel, because it measures the allocations of the whole process.
func TestForwardMemory(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"lines": io.LimitReader(&loop{text: bytes.Repeat([]byte("a line of a flood\n"), 1000)}, 20<<20),
		"line":  io.LimitReader(&loop{text: bytes.Repeat([]byte("x"), 10_000)}, 20<<20),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		kept := &records{}
		newForwarder("fake", kept.logger(), plain).forward(r)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
			t.Errorf("%s: allocated %d KiB", name, got>>10)
		}
		if kept.count() > 100*maxLogRate {
			t.Errorf("%s: %d records", name, kept.count())
		}
	}
}

// A loop repeats its text endlessly.
type loop struct {
	text []byte
	rest []byte
}

func (l *loop) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		l.rest = l.text
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// TestLog checks that what a backend logs crosses the pipe with its level.
func TestLog(t *testing.T) {
	t.Parallel()
	const (
		debug  = "level=DEBUG msg=news helper=leaderrun-fake\n"
		info   = "level=INFO msg=news helper=leaderrun-fake\n"
		strict = "level=ERROR msg=news helper=leaderrun-fake n=1 text=\"a [2J\"\n"
	)
	for level, want := range map[slog.Level]string{
		slog.LevelDebug: debug + info + strict,
		slog.LevelInfo:  info + strict,
		slog.LevelWarn:  strict,
		slog.LevelError: strict,
	} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			r := &records{}
			o := options()
			o.Logger = slog.New(atLeast{level, r.logger().Handler()})
			l := hold(t, "fake://h/?log=news", o)
			checkClass(t, "close", l.Close(), nil)
			if got := r.all(); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// atLeast is enabled only from one level on, but passes on every record.
type atLeast struct {
	level slog.Level
	slog.Handler
}

func (h atLeast) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }
func (h atLeast) WithAttrs(as []slog.Attr) slog.Handler {
	return atLeast{h.level, h.Handler.WithAttrs(as)}
}

// TestPasswordIsHidden checks that a password is hidden wherever a helper repeats it.
func TestPasswordIsHidden(t *testing.T) {
	t.Parallel()
	r := &records{}
	o := options()
	o.Logger = r.logger()
	l := start(t, "blab://user:sword%2Ffish@h/", o)
	_, err := l.Acquire(t.Context(), true)
	checkClass(t, "acquire", err, locks.ErrDenied)
	checkClass(t, "close", l.Close(), nil)
	said := fmt.Sprint(err, locks.Hint(err), r.all())
	if strings.Contains(said, "sword") || strings.Count(said, "xxxxx") < 4 {
		t.Errorf("said %s", said)
	}
}
