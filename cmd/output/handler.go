package output

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// A handler is the slog.Handler of all messages. It prints a record as text, or as JSON.
//
// All messages in JSON have the same keys, each of them once. A backend also names its
// lock and its address, and if an object has a key twice, readers differ in which one they
// take. The first one counts, and the attributes of the term come last.
type handler struct {
	out   *Console
	level slog.Level
	json  slog.Handler // nil: print text
	attrs []slog.Attr  // of every record
	past  *pastWarnings
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	if h.past != nil && r.Level >= slog.LevelWarn && !h.past.isNew(r.Message+fmt.Sprint(attrs)) {
		return nil
	}
	if h.json == nil {
		_, err := io.WriteString(h.out, h.text(r, attrs))
		return err
	}
	if term := h.out.term.Load(); term != nil {
		attrs = append(attrs, *term...)
	}
	once := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	for i, a := range attrs {
		if !slices.ContainsFunc(attrs[:i], func(b slog.Attr) bool { return a.Key == b.Key }) {
			once.AddAttrs(a)
		}
	}
	return h.json.Handle(ctx, once)
}

// text returns the line of a record, and below a warning or an error that of its hint.
func (h *handler) text(r slog.Record, attrs []slog.Attr) string {
	var b strings.Builder
	prefix := h.out.prefix(r.Level)
	b.WriteString(prefix)
	switch {
	case r.Level >= slog.LevelError:
		b.WriteString("error: ")
	case r.Level >= slog.LevelWarn:
		b.WriteString("warning: ")
	}
	b.WriteString(r.Message)
	var cause, hint string
	for _, a := range attrs {
		if a.Key != "err" {
			b.WriteString(" " + a.Key + "=" + word(a.Value))
			continue
		}
		cause = ": " + OneLine(a.Value.String())
		if err, ok := a.Value.Any().(error); ok {
			hint = hintOf(err)
		}
	}
	b.WriteString(cause + "\n")
	if hint != "" && r.Level >= slog.LevelWarn {
		b.WriteString(prefix + "hint: " + hint + "\n")
	}
	return b.String()
}

// word returns a value as one word: a duration without digits that nobody reads, and a text with
// blanks in quotes. A line is one message.
func word(v slog.Value) string {
	if v.Kind() == slog.KindDuration {
		d := v.Duration()
		switch a := d.Abs(); {
		case a >= time.Minute:
			d = d.Round(time.Second)
		case a >= time.Second:
			d = d.Round(10 * time.Millisecond)
		default:
			d = d.Round(10 * time.Microsecond)
		}
		return d.String()
	}
	text := strings.ReplaceAll(v.String(), "\n", "; ")
	if text == "" || strings.ContainsFunc(text, unicode.IsSpace) {
		return strconv.Quote(text)
	}
	return text
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Concat(h.attrs, attrs)
	return &with
}

// WithGroup flattens groups, because they would hide the keys.
func (h *handler) WithGroup(string) slog.Handler { return h }

// pastWarnings are warnings that were printed. They are forgotten when there are many.
type pastWarnings struct {
	mu    sync.Mutex
	texts map[string]bool
}

const maxWarnings = 1000

// LogWithoutRepeats returns a logger that prints each warning once, for code that looks at
// the same things again and again, and would repeat its warnings about them.
func (c *Console) LogWithoutRepeats() *slog.Logger {
	h := *c.log.Handler().(*handler)
	h.past = &pastWarnings{texts: map[string]bool{}}
	return slog.New(&h)
}

func (w *pastWarnings) isNew(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.texts[text] {
		return false
	}
	if len(w.texts) >= maxWarnings {
		clear(w.texts)
	}
	w.texts[text] = true
	return true
}
