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
)

func releaseCommand(e *env.Env) *options.Command {
	return define(e, "release", "take a lock away from its holder, whose job is killed when it hears of that", func(p *operator) ([]options.Option, func(*options.Request) error) {
		var force, yes bool
		return []options.Option{
				p.As("lock", "`NAME` of the lock"),
				{Name: "force", Group: "Losing the lock", Value: &force, From: options.Arguments,
					Usage: "break the lock; without it nothing is done, as leaderrun resign asks the holder to end its job in order"},
				yesOption(&yes, "Losing the lock"),
			}, func(*options.Request) error {
				if !force {
					return output.WithHint(locks.Usagef("release breaks a lock that somebody holds, and so needs --force"),
						"to have the holder end its job and release: leaderrun resign")
				}
				return p.breakLock(yes)
			}
	})
}

func yesOption(yes *bool, group string) options.Option {
	return options.Option{Name: "yes", Short: "y", Group: group, Value: yes, From: options.Arguments,
		Usage: "do not ask; required where there is no terminal to ask on"}
}

// breakLock shows who holds a lock, asks, and takes it away from that holder and no
// other.
func (p *operator) breakLock(yes bool) error {
	if err := p.needLock(); err != nil {
		return err
	}
	if !yes && !canAsk() {
		return output.WithHint(&locks.UsageError{What: "there is no terminal to ask on whether to break the lock"}, "add --yes to break it unasked")
	}
	v, err := p.visit("leaderrun release", locks.CanInspect)
	if err != nil {
		return err
	}
	defer v.close()
	ctx := context.Background()
	if err := locks.Require(ctx, v.handle, "leaderrun release", locks.CanBreak); err != nil {
		return output.WithHint(err, "such a lock ends with its holder: leaderrun resign asks it, and leaderrun status shows its process")
	}
	before, err := v.inspect(ctx)
	if err != nil {
		return output.Explain(p.Lock, err)
	}
	if !before.Held {
		return p.nothingHeld(ctx, v)
	}
	if !yes {
		if err := p.confirm(v, before); err != nil {
			return err
		}
	}
	if err := v.breakTerm(ctx, before.Token); err != nil {
		return output.Explain(p.Lock, p.notBroken(ctx, v, before, err))
	}
	return p.Say("%s lost lock %q: %s", holder(before.Status), p.Lock, notices(before.Status))
}

// nothingHeld says that a lock is free, if its slots are, too.
func (p *operator) nothingHeld(ctx context.Context, v *visit) error {
	seen, err := v.store().Look(ctx)
	if err != nil {
		return output.Explain(v.Lock, err)
	}
	var held []string
	for i := range seen {
		if seen[i].Held {
			held = append(held, fmt.Sprintf("%s, held by %s", seen[i].Name, holder(seen[i].Status)))
		}
	}
	if len(held) > 0 {
		return output.WithHint(&locks.UsageError{What: fmt.Sprintf("lock %q has slots, of which one is broken at a time", v.Lock)},
			"add --lock with one of these: "+strings.Join(held, "; "))
	}
	return p.Say("lock %q is free: there is nothing to release", v.Lock)
}

func (v *visit) breakTerm(ctx context.Context, token uint64) error {
	return v.bounded(ctx, func(ctx context.Context) error { return v.handle.(locks.Breaker).Break(ctx, token) })
}

// notBroken says why a lock was not broken: its term may have ended by itself.
func (p *operator) notBroken(ctx context.Context, v *visit, before locks.State, err error) error {
	if !errors.Is(err, locks.ErrLost) {
		return err
	}
	now, err := v.inspect(ctx)
	switch {
	case err != nil:
		return err
	case now.Held:
		// It names the tokens, as both terms may be of one name.
		return &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("lock %q: the term of %s with token %d has ended, and the next one was left alone: %s holds the lock with token %d",
			v.Lock, holder(before.Status), before.Token, holder(now.Status), now.Token)}
	}
	return p.Say("%s does not hold lock %q any more: it is free", holder(before.Status), v.Lock)
}

// notices says what a holder will notice of the loss of its lock, and when.
func notices(s locks.Status) string {
	if s.TTL > 0 {
		return fmt.Sprintf("its job is killed when it hears of that, at the latest %v from now; until then another may already hold the lock", s.TTL.Round(time.Second))
	}
	return "its job is killed when it hears of that; until then another may already hold the lock"
}

// confirm shows the lock, and asks.
func (p *operator) confirm(v *visit, before locks.State) error {
	shown := []view.Lock{{Name: p.Lock, State: before}}
	if seen, err := v.store().Look(context.Background()); err == nil && len(seen) == 1 && seen[0].Token == before.Token {
		shown = seen
	}
	var text strings.Builder
	if err := p.style(false).Detail(&text, shown); err != nil {
		return err
	}
	fmt.Fprintf(&text, "If you break it, %s loses it: %s.\nBreak it? [y/N] ", holder(before.Status), notices(before.Status))
	return ask(text.String(), fmt.Sprintf("lock %q was not broken", p.Lock))
}

// ask asks at the terminal. Whoever does not say yes has said no, which is an error.
func ask(question, declined string) error {
	if _, err := os.Stderr.WriteString(question); err != nil {
		return err
	}
	refused := &output.Exit{Status: exitDeclined, Err: errors.New(declined)}
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil { // Ctrl-D: the end is no yes, and no new line either
		_, _ = os.Stderr.WriteString("\n")
		return refused
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return refused
}

// exitDeclined is the exit status if, asked at a terminal, the user said no.
const exitDeclined = 1
