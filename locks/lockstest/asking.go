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

// mayAsk leaves a request for a token that may not be the holder's: that may be an error.
func (k *contender) mayAsk(token uint64, text string) {
	k.e.Helper()
	k.e.harmless(k.ask(k.e.patient(), token, text))
}

func (k *contender) inbox() <-chan []byte { return k.bare.(locks.Asker).Asked() }

// isAsked checks the next request that the holder receives.
func (k *contender) isAsked(want string) {
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

// isNotAsked checks that no request has arrived.
func (k *contender) isNotAsked(what string) {
	k.e.Helper()
	select {
	case got := <-k.inbox():
		k.e.Errorf("%s: %s was asked %q", what, k.o.Holder, locks.Abbreviate(string(got)))
	default:
	}
}

// lag waits until a request that should not be delivered would have arrived.
func (e *env) lag() { pause(e.wakes + e.c.AskDelay) }

// askReachesTheHolder asks from a handle that never acquires, and from one that holds.
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
		a.isAsked(text)
	}
	a.asks(a.grant.Token, "myself")
	a.isAsked("myself")
	if a.inbox() != inbox {
		e.Error("Asked returns another channel")
	}
	e.lag()
	a.isNotAsked("after all requests")
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew: %v", err)
	}
	a.release()
	w.mayAsk(a.grant.Token, "too late")
	e.free()
}

// askOfAnother checks that a request for another token does not reach the holder.
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
		a.isNotAsked("after a request for another")
	}
	w.asks(t, "you")
	a.isAsked("you")
	e.lag()
	a.isNotAsked("after a request for another")
	a.release()
}

// askOfAnEarlierTerm checks that a request that the holder did not receive before its
// release does not reach the next term, and the same with a lease that ends.
func askOfAnEarlierTerm(e *env) {
	w := e.open("watcher")
	a := e.open("a")
	a.hold()
	w.asks(a.grant.Token, "for a")
	a.release()
	b := e.open("b")
	b.hold()
	b.isNotAsked("a request to an earlier holder")
	w.mayAsk(a.grant.Token, "for a, later")
	if e.c.TTL > 0 {
		w.asks(b.grant.Token, "for b")
		c := e.open("c").campaign()
		c.won(b.grant.TTL + e.late())
		b = c.k
	}
	b.keep()
	e.lag()
	b.isNotAsked("a request to an earlier holder")
	w.mayAsk(a.grant.Token, "for a, once more")
	e.lag()
	b.isNotAsked("a request to an earlier holder")
	w.asks(b.grant.Token, "now")
	b.isAsked("now")
	e.lag()
	b.isNotAsked("a request to an earlier holder")
	b.release()
}

// lastAskWins checks that the last of several requests is delivered, and that nobody
// waits for a holder who does not receive.
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
		e.Errorf("renew while requests are not received: %v", err)
	}
	e.open("b").refused()
	last := ""
	for end := time.After(e.prompt + e.c.AskDelay); last != fmt.Sprint("request ", n-1); {
		select {
		case got := <-a.inbox():
			if string(got) < last {
				e.Errorf("%q was delivered after %q", got, last)
			}
			last = string(got)
		case <-end:
			e.Fatalf("the last delivered request is %q", last)
		}
	}
	e.lag()
	a.isNotAsked("after the last request")
	a.release()
}

// askTexts checks that texts arrive unchanged, or are refused.
func askTexts(e *env) {
	a := e.open("a")
	a.hold()
	a.keep()
	w := e.open("watcher")
	for _, text := range []string{
		"\x00\x1b[2J\u202e", "not JSON {", "a\nb\n", `"}]\`, "漢字 🙂", strings.Repeat("\x01", locks.MaxRecord), strings.Repeat(`"`, locks.MaxRecord),
	} {
		w.asks(a.grant.Token, text)
		a.isAsked(text)
	}
	for _, text := range excessive() {
		if err := w.ask(e.patient(), a.grant.Token, text); !errors.Is(err, locks.ErrUsage) {
			e.Errorf("a request of %d bytes: got %v; want ErrUsage", len(text), err)
		}
	}
	w.asks(a.grant.Token, "good")
	a.isAsked("good")
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew: %v", err)
	}
	a.release()
}

// askWithWaiters checks that waiters receive no requests, neither while they wait nor
// when they have the lock.
func askWithWaiters(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b := e.open("b")
	c := b.campaign()
	c.queued()
	w := e.open("watcher")
	w.asks(a.grant.Token, "for a")
	a.isAsked("for a")
	w.asks(a.grant.Token, "never received")
	e.lag()
	b.isNotAsked("while it waits")
	_ = stop()
	a.release()
	c.won(e.prompt + e.c.Polling)
	b.keep()
	e.lag()
	w.asks(b.grant.Token, "for b")
	b.isAsked("for b")
	b.release()
}

// hostileAsk meets a request that no leaderrun would leave.
func hostileAsk(e *env, i int) {
	a := e.open("a")
	a.hold()
	a.keep()
	w := e.open("watcher")
	w.asks(a.grant.Token, "before")
	a.isAsked("before")
	e.operates(func() { e.c.HostileAsks[i](e.TB, e.u, lockName) })
	e.lag()
	if err := a.renew(); e.c.TTL > 0 && err != nil {
		e.Errorf("renew: %v", err)
	}
	for n := 0; n < 10; n++ { // may be delivered if it has the right token
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
		e.Logf("the request cannot be replaced: %v", err)
	} else {
		a.isAsked("after")
	}
	a.release()
	e.free()
}

// askThroughCut asks the holder while it is cut off. It must receive the last request
// once, soon after the cut, and keep the lock.
func askThroughCut(e *env, how Cut) {
	a := e.openWith(e.u, e.longer("cut off"))
	a.hold()
	w := e.openWith(e.twin(), e.options("watcher"))
	w.asks(a.grant.Token, "before")
	stop := a.keep()
	a.isAsked("before")
	_ = stop()
	heal := e.sever(e.u, how)
	w.asks(a.grant.Token, "left")
	pause(e.wakes)
	heal()
	if err := a.renew(); err != nil {
		e.Errorf("renew: %v", err)
	}
	a.keep()
	a.isAsked("left")
	w.asks(a.grant.Token, "again")
	a.isAsked("again")
	e.lag()
	a.isNotAsked("after all requests")
	a.release()
}
