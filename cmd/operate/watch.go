package operate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner"
)

// A watching is one use of leaderrun watch.
type watching struct {
	*operator
	all      bool
	format   options.Choice
	interval options.Duration
}

func watchCommand(e *env.Env) *options.Command {
	return define(e, "watch", "follow who holds a lock, or all locks, until interrupted", func(p *operator) ([]options.Option, func(*options.Invocation) error) {
		w := &watching{operator: p}
		return []options.Option{
			p.opt.As("lock", "`NAME` of the lock (default: all)"),
			allOption(&w.all),
			options.Format(&w.format, "", "print changes as `FORMAT`, one line per change: lines or json (default: on a terminal a table that is kept up to date, else lines)", "lines", "json"),
			intervalOption(&w.interval, "2s"),
		}, func(*options.Invocation) error { return w.watch() }
	})
}

func intervalOption(interval *options.Duration, def string) options.Option {
	interval.Limit(100*time.Millisecond, math.MaxInt64, "100ms or more") // a shorter one would load the backend
	return options.Option{Name: "interval", Group: "Waiting", Value: interval, Default: def, From: options.Arguments,
		Usage: "poll every `DURATION` if the backend cannot report changes"}
}

// watch follows the locks until a signal ends us or the output has no reader any more.
func (w *watching) watch() error {
	seen, end := w.watcher()
	v, err := w.see(w.all, "leaderrun watch")
	if err != nil {
		return err
	}
	defer v.close()
	signalled, stop := context.WithCancelCause(context.Background())
	_, ended := env.UntilEnded(stop)
	ctx := whileRead(signalled, os.Stdout)
	f := &view.Follower{Store: v.Store, Interval: w.interval.D, Seen: func(now []view.Lock, changes []view.Change) error {
		return seen(ctx, now, changes)
	}}
	defer end()
	err = f.Follow(ctx)
	if sig := ended(); sig != nil {
		return &runner.SignalError{Signal: sig}
	}
	if errors.Is(context.Cause(ctx), errUnread) {
		return errUnread
	}
	return output.Explain(w.opt.Lock, err)
}

// watcher returns a function that shows what each look has seen, in the way that the options
// ask for, and one that ends this.
func (w *watching) watcher() (seen func(context.Context, []view.Lock, []view.Change) error, end func()) {
	if w.format.Value == "" && output.CanDraw(w.env.Out) {
		f := w.env.Out.(*os.File) // because it is a terminal
		live := &view.Live{Stopped: env.Stops(), Stop: env.Stop, Board: &view.Board{
			Out: f, Title: "leaderrun watch " + known.RedactText(w.opt.Backend), Style: w.style(false),
			Size: func() (int, int) { columns, rows, _ := output.Screen(f); return columns, rows },
		}}
		return live.Seen, live.End
	}
	seen = func(ctx context.Context, _ []view.Lock, changes []view.Change) error {
		for _, c := range changes {
			if err := printChange(ctx, w.env.Out, c, w.format.Value); err != nil {
				return err
			}
		}
		return nil
	}
	return seen, func() {}
}

func printChange(ctx context.Context, w io.Writer, c view.Change, format string) error {
	if format != "json" {
		return write(ctx, w, []byte(c.Line()+"\n"))
	}
	var line bytes.Buffer
	if err := output.JSON(&line, c.JSON()); err != nil {
		return err
	}
	return write(ctx, w, line.Bytes())
}

// write writes, but gives up when ctx ends: a stalled reader must not keep us from ending
// after a signal.
func write(ctx context.Context, w io.Writer, p []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.Write(p)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
