package lockstest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// asks leaves a request for the holder with the given token.
func (k *contender) asks(token uint64, text string) {
	k.e.Helper()
	if err := k.ask(k.e.patient(), token, text); err != nil {
		k.e.Errorf("ask the holder with the token %d: %v", token, err)
	}
}

// mayAsk asks whoever it is not: that may be an error.
func (k *contender) mayAsk(token uint64, text string) {
	k.e.Helper()
	k.e.harmless(k.ask(k.e.patient(), token, text))
}

func (k *contender) inbox() <-chan []byte { return k.bare.(locks.Asker).Asked() }

// hears checks what the holder is asked next.
func (k *contender) hears(want string) {
	k.e.Helper()
	select {
	case got := <-k.inbox():
		if string(got) != want {
			k.e.Errorf("%s was asked %q; want %q", k.o.Holder, locks.Abbreviate(string(got)), locks.Abbreviate(want))
		}
	case <-time.After(k.e.prompt + k.e.c.AskDelay):
		k.e.Errorf("%s was not asked %q", k.o.Holder, locks.Abbreviate(want))
	}
}

// unheard checks that nothing has come.
func (k *contender) unheard(what string) {
	k.e.Helper()
	select {
	case got := <-k.inbox():
		k.e.Errorf("%s: %s was asked %q", what, k.o.Holder, locks.Abbreviate(string(got)))
	default:
	}
}

// lag is the time in which a request would be delivered that should not be.
func (e *env) lag() { pause(e.wakes + e.c.AskDelay) }

// askReachesTheHolder from a handle that never acquires, and from one that holds.
func askReachesTheHolder(e *env) {
	a := e.open("a")
	a.hold()
	a.keep()
	inbox := a.inbox()
	if inbox == nil {
		e.Fatal("Asked is nil after Acquire has returned")
	}
	w := e.open("watcher")
	for _, text := range []string{"resign", "resign", "again"} {
		w.asks(a.grant.Token, text)
		a.hears(text)
	}
	a.asks(a.grant.Token, "myself")
	a.hears("myself")
	if a.inbox() != inbox {
		e.Error("Asked returns another channel")
	}
	e.lag()
	a.unheard("once all was heard")
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew: %v", err)
	}
	a.release()
	w.mayAsk(a.grant.Token, "too late")
	e.free()
}

// askOfAnother: what is for another token is not for the holder.
func askOfAnother(e *env) {
	first := e.open("first")
	first.hold()
	first.release()
	w := e.open("watcher")
	w.mayAsk(first.grant.Token, "nobody")
	a := e.open("a")
	a.hold()
	a.keep()
	t := a.grant.Token
	for _, token := range []uint64{0, first.grant.Token, t - 1, t + 1, 1<<64 - 1} {
		w.mayAsk(token, fmt.Sprint("not ", token))
		e.lag()
		a.unheard("after a request for another")
	}
	w.asks(t, "you")
	a.hears("you")
	e.lag()
	a.unheard("after a request for another")
	a.release()
}

// askOfAnEarlierTerm is left unheard by its holder, who releases, and another
// term begins; and once more with a lease that ends.
func askOfAnEarlierTerm(e *env) {
	w := e.open("watcher")
	a := e.open("a")
	a.hold()
	w.asks(a.grant.Token, "for a")
	a.release()
	b := e.open("b")
	b.hold()
	b.unheard("a request to an earlier holder")
	w.mayAsk(a.grant.Token, "for a, later")
	if e.c.TTL > 0 {
		w.asks(b.grant.Token, "for b")
		c := e.open("c").campaign()
		c.won(b.grant.TTL + e.late())
		b = c.k
	}
	b.keep()
	e.lag()
	b.unheard("a request to an earlier holder")
	w.mayAsk(a.grant.Token, "for a, once more")
	e.lag()
	b.unheard("a request to an earlier holder")
	w.asks(b.grant.Token, "now")
	b.hears("now")
	e.lag()
	b.unheard("a request to an earlier holder")
	b.release()
}

// lastAskWins: of several, the last is heard, and nobody waits for a holder who
// does not listen.
func lastAskWins(e *env) {
	a := e.open("a")
	a.hold()
	a.keep()
	w := e.open("watcher")
	const n = 5
	for i := range n {
		w.asks(a.grant.Token, fmt.Sprint("request ", i))
	}
	e.lag()
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew, while requests are not received: %v", err)
	}
	e.open("b").refused()
	last := ""
	for end := time.After(e.prompt + e.c.AskDelay); last != fmt.Sprint("request ", n-1); {
		select {
		case got := <-a.inbox():
			if string(got) < last {
				e.Errorf("%q was heard after %q", got, last)
			}
			last = string(got)
		case <-end:
			e.Fatalf("the last request heard is %q", last)
		}
	}
	e.lag()
	a.unheard("after the last request")
	a.release()
}

// askTexts come through as they are, or are refused.
func askTexts(e *env) {
	a := e.open("a")
	a.hold()
	a.keep()
	w := e.open("watcher")
	for _, text := range []string{
		"\x00\x1b[2J\u202e", "not JSON {", "a\nb\n", `"}]\`, "漢字 🙂", strings.Repeat("\x01", locks.MaxRecord), strings.Repeat(`"`, locks.MaxRecord),
	} {
		w.asks(a.grant.Token, text)
		a.hears(text)
	}
	for _, text := range excessive() {
		if err := w.ask(e.patient(), a.grant.Token, text); !errors.Is(err, locks.ErrUsage) {
			e.Errorf("a request of %d bytes: got %v; want ErrUsage", len(text), err)
		}
	}
	w.asks(a.grant.Token, "good")
	a.hears("good")
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew: %v", err)
	}
	a.release()
}

// askBesideWaiters: they hear nothing, neither while they wait nor when they
// have the lock.
func askBesideWaiters(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b := e.open("b")
	c := b.campaign()
	c.queued()
	w := e.open("watcher")
	w.asks(a.grant.Token, "for a")
	a.hears("for a")
	w.asks(a.grant.Token, "unheard")
	e.lag()
	b.unheard("while it waits")
	_ = stop()
	a.release()
	c.won(e.prompt + e.c.Polling)
	b.keep()
	e.lag()
	w.asks(b.grant.Token, "for b")
	b.hears("for b")
	b.release()
}

// hostileAsk comes upon a request that no leaderrun left.
func hostileAsk(e *env, i int) {
	a := e.open("a")
	a.hold()
	a.keep()
	w := e.open("watcher")
	w.asks(a.grant.Token, "before")
	a.hears("before")
	e.unwatched(func() { e.c.HostileAsks[i](e.TB, e.u, lockName) })
	e.lag()
	if err := a.renew(); e.c.TTL > 0 && err != nil {
		e.Errorf("renew: %v", err)
	}
	for n := 0; n < 10; n++ { // it may be heard, if it has the right token
		select {
		case got := <-a.inbox():
			if len(got) > 64<<10 {
				e.Errorf("a request of %d bytes was delivered", len(got))
			}
			continue
		default:
		}
		break
	}
	if err := w.ask(e.patient(), a.grant.Token, "after"); err != nil {
		e.harmless(err)
		e.Logf("it cannot be replaced: %v", err)
	} else {
		a.hears("after")
	}
	a.release()
	e.free()
}

// askThroughCut has the holder asked while it is cut off. It hears the last of that once,
// soon after the cut, and keeps the lock.
func askThroughCut(e *env, how Cut) {
	a := e.openWith(e.u, e.longer("cut off"))
	a.hold()
	w := e.openWith(e.twin(), e.options("watcher"))
	w.asks(a.grant.Token, "before")
	stop := a.keep()
	a.hears("before")
	_ = stop()
	heal := e.sever(e.u, how)
	w.asks(a.grant.Token, "left")
	pause(e.wakes)
	heal()
	if err := a.renew(); err != nil {
		e.Errorf("renew: %v", err)
	}
	a.keep()
	a.hears("left")
	w.asks(a.grant.Token, "again")
	a.hears("again")
	e.lag()
	a.unheard("once all was heard")
	a.release()
}
