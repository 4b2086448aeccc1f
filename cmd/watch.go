package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// watchOptions are those of watch alone.
type watchOptions struct {
	*options
	all      bool
	output   choice
	exec     string
	interval seconds
}

func (p *program) watchCommand() *cli.Command {
	o := &watchOptions{options: newOptions(), output: choice{"", []string{"live", "lines", "json"}}, interval: seconds{d: 2 * time.Second}}
	return &cli.Command{
		Name:  "watch",
		Usage: "follow who holds a lock, or all locks, until interrupted",
		Flags: operatorFlags(o.options,
			lockFlag(o.options, "`NAME` of the lock (default: all)"),
			allFlag(&o.all),
			&cli.GenericFlag{Name: "output", Aliases: []string{"o"}, Category: "Output", Value: &o.output,
				Usage: "print changes as `FORMAT`: lines or json, a line each, or live: a picture of what is (default: live on a terminal, else lines)"},
			&cli.StringFlag{Name: "exec", Category: "Running", Destination: &o.exec,
				Usage: "run `CMD` after each change, one at a time, with LEADERRUN_EVENT and so on"},
			&cli.GenericFlag{Name: "interval", Category: "Waiting", Value: &o.interval, DefaultText: "2s",
				Usage: "look every `DURATION` where the backend cannot tell of changes"},
		),
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			return p.watch(o)
		},
	}
}

// shortestInterval keeps a watch from being a load.
const shortestInterval = 100 * time.Millisecond

// check refuses what cannot be meant.
func (o *watchOptions) check(p *program) error {
	switch {
	case o.all && p.isGiven("lock"):
		return errOneOrAll
	case o.interval.d < shortestInterval:
		return &locks.UsageError{What: fmt.Sprintf("--interval %v is out of range: %v or more", o.interval.d, shortestInterval)}
	case o.output.value == "live" && o.exec != "":
		return &locks.UsageError{What: "--exec has no place on a live screen: use -o lines"}
	case o.output.value == "live" && !p.canDraw():
		return &locks.UsageError{What: "standard output is no terminal for a live screen: use -o lines"}
	}
	return nil
}

var errOneOrAll = &locks.UsageError{What: "--lock names one lock, and --all means all: only one of them can be meant"}

func (p *program) watch(o *watchOptions) error {
	if err := o.check(p); err != nil {
		return err
	}
	out, err := p.watcher(o)
	if err != nil {
		return err
	}
	v, err := p.see(o.options, o.all, "leaderrun watch")
	if err != nil {
		return err
	}
	defer v.close()
	ctx, ended := untilSignalled()
	ctx = whileRead(ctx, os.Stdout)
	f := &view.Follower{Store: v.store(), Interval: o.interval.d, Seen: func(now []view.Lock, changes []view.Change) error {
		return out.seen(ctx, now, changes)
	}}
	defer out.end()
	err = f.Follow(ctx)
	if sig := ended(); sig != nil {
		return &runner.SignalError{Signal: sig}
	}
	if errors.Is(context.Cause(ctx), errUnread) {
		return errUnread
	}
	return output.Explain(o.lock, err)
}

// canDraw reports whether standard output is a terminal on which a screen can be drawn.
func (p *program) canDraw() bool {
	f, ok := p.out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, _, ok = output.Screen(f)
	return ok
}

// untilSignalled returns a context that ends when we are told to end, and a function
// that says by which signal, if any.
func untilSignalled() (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(context.Background())
	caught := make(chan os.Signal, 1)
	catch(caught, endings())
	got := make(chan os.Signal, 1)
	go func() {
		got <- <-caught
		cancel()
	}()
	return ctx, func() os.Signal {
		signal.Stop(caught)
		select {
		case sig := <-got:
			return sig
		default:
			return nil
		}
	}
}

// A watcher is told what has been seen.
type watcher struct {
	seen func(ctx context.Context, now []view.Lock, changes []view.Change) error
	end  func()
}

// watcher makes the one that the options ask for.
func (p *program) watcher(o *watchOptions) (*watcher, error) {
	if o.output.value == "live" || o.output.value == "" && o.exec == "" && p.canDraw() {
		return p.liveWatcher(o), nil
	}
	w := &watcher{end: func() {}}
	var command proc.Command
	if o.exec != "" {
		var err error
		if command, err = commandOf("--exec", o.exec); err != nil {
			return nil, err
		}
	}
	w.seen = func(ctx context.Context, _ []view.Lock, changes []view.Change) error {
		for _, c := range changes {
			if err := printChange(ctx, p.out, c, o.output.value); err != nil {
				return err
			}
			if o.exec != "" && !c.First() {
				p.react(ctx, command, c)
			}
		}
		return nil
	}
	return w, nil
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

// write writes until ctx ends: a reader that has stalled must not keep us from ending
// when we are told to.
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
