package operate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
)

func releaseCommand(e *env.Env) *options.Command {
	return define(e, "release", "ask the holder to release a lock; with --force, take it away", func(p *operator) ([]options.Option, func(*options.Invocation) error) {
		var d demand
		var force, yes bool
		return append(p.resignOptions(&d),
				options.Option{Name: "force", Group: "Lease and stopping", Value: &force, From: options.Arguments,
					Usage: "take the lock away from the holder, which then kills its job; another may hold the lock before that"},
				yesOption(&yes, "Lease and stopping"),
			), func(*options.Invocation) error {
				if !force {
					return p.resign("leaderrun release", d)
				}
				return p.breakLock(yes, d)
			}
	})
}

func yesOption(yes *bool, group string) options.Option {
	return options.Option{Name: "yes", Short: "y", Group: group, Value: yes, From: options.Arguments,
		Usage: "do not ask for confirmation; required without a terminal"}
}

// breakLock shows who holds a lock, asks for confirmation, and takes the lock away from
// that holder and no other.
func (p *operator) breakLock(yes bool, d demand) error {
	if err := p.needLock(); err != nil {
		return err
	}
	if !yes && !canAsk() {
		return output.WithHint(locks.Usagef("cannot ask for confirmation to take the lock away: no terminal"), "add --yes to take it away without asking")
	}
	const command = "leaderrun release"
	v, err := p.visit(command, locks.CanInspect)
	if err != nil {
		return err
	}
	defer v.close()
	ctx := context.Background()
	if err := locks.Require(ctx, v.Handle, command, locks.CanBreak); err != nil {
		return output.WithHint(err, "the lock is free when its holder ends: leaderrun resign asks it to end, and leaderrun status shows its process")
	}
	before, err := v.inspect(ctx)
	if err != nil {
		return output.Explain(p.opt.Lock, err)
	}
	if err := v.meant(ctx, d, before.Status); err != nil {
		return p.explain(err)
	}
	if !before.Held || before.Over() {
		return p.nothingHeld(ctx, v, before.Status)
	}
	if !yes {
		if err := p.confirm(v, before); err != nil {
			return err
		}
	}
	v.announce(ctx, before.Token, d.reason)
	err = v.Request(ctx, func(ctx context.Context) error { return v.Handle.(locks.Breaker).Break(ctx, before.Token) })
	if err != nil {
		return output.Explain(p.opt.Lock, p.notBroken(ctx, v, before, err))
	}
	return v.say(fmt.Sprintf("%s lost lock %q: %s", holder(before.Status), p.opt.Lock, notices(before.Status)))
}

// announce leaves word for the holder of who takes the lock away and why. Whoever may not, or
// cannot, takes it away without a word.
func (v *visit) announce(ctx context.Context, token uint64, reason string) {
	if !v.Can(ctx, locks.CanAsk) {
		return
	}
	err := v.Request(ctx, func(ctx context.Context) error {
		return v.Handle.(locks.Asker).Ask(ctx, token, runner.Request{By: v.opt.ID, Reason: reason, Force: true}.Encode())
	})
	if err == nil {
		time.Sleep(resignLook) // so that a holder that watches has read it
	}
}

// nothingHeld says that nobody holds a lock, unless one of its slots is held.
func (p *operator) nothingHeld(ctx context.Context, v *visit, before locks.Status) error {
	if err := v.nameSlot(ctx); err != nil {
		return output.Explain(v.opt.Lock, err)
	}
	return v.say(nobody(v.opt.Lock, before) + ": there is nothing to release")
}

// notBroken says why a lock was not taken away. Its term may have ended by itself.
func (p *operator) notBroken(ctx context.Context, v *visit, before locks.State, err error) error {
	if !errors.Is(err, locks.ErrLost) {
		return err
	}
	now, err := v.inspect(ctx)
	switch {
	case err != nil:
		return err
	case now.Held && !now.Over() && (now.Left >= 0 || now.Token != before.Token):
		// The message has the tokens because both holders may have the same name.
		return &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("lock %q: the term of %s with token %d has already ended; %s holds the lock now with token %d, and keeps it",
			v.opt.Lock, holder(before.Status), before.Token, holder(now.Status), now.Token)}
	}
	state := "it is free"
	if now.Held {
		state = view.Ended(now.Status)
	}
	return v.say(fmt.Sprintf("%s no longer holds lock %q: %s", holder(before.Status), v.opt.Lock, state))
}

// nobody says that nobody holds a lock.
func nobody(lock string, s locks.Status) string {
	if s.Held {
		return fmt.Sprintf("lock %q: %s; it was held by %s", lock, view.Ended(s), holder(s))
	}
	return fmt.Sprintf("lock %q is free", lock)
}

// notices says when a holder will notice that it has lost its lock.
func notices(s locks.Status) string {
	if s.Left < 0 {
		return "if it still runs, it kills its job when it notices (" + view.Ended(s) + ")"
	}
	if s.TTL > 0 {
		return fmt.Sprintf("it kills its job when it notices, at the latest in %v; until then another may already hold the lock", s.TTL.Round(time.Second))
	}
	return "it kills its job when it notices; until then another may already hold the lock"
}

// confirm shows the lock and asks for confirmation.
func (p *operator) confirm(v *visit, before locks.State) error {
	shown := []view.Lock{{Name: p.opt.Lock, State: before}}
	if seen, err := v.Look(context.Background()); err == nil && len(seen) == 1 && seen[0].Token == before.Token {
		shown = seen
	}
	var text strings.Builder
	if err := p.style(false).Detail(&text, shown, v.where()); err != nil {
		return err
	}
	fmt.Fprintf(&text, "If you take the lock away from %s, %s.\nTake it away? [y/N] ", holder(before.Status), notices(before.Status))
	return ask(text.String(), fmt.Sprintf("lock %q was not taken away", p.opt.Lock))
}

// ask asks a question at the terminal. Any answer except yes is an error.
func ask(question, declined string) error {
	if _, err := os.Stderr.WriteString(question); err != nil {
		return err
	}
	refused := &output.Exit{Status: exitDeclined, Err: errors.New(declined)}
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil { // Ctrl-D: there is no answer, and the cursor is still on the line
		_, _ = os.Stderr.WriteString("\n")
		return refused
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return refused
}

// exitDeclined is the exit status if the user did not confirm.
const exitDeclined = 1
