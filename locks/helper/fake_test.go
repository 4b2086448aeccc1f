package helper

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A fake is a backend that does what its URL says: ?acquire=held&renew=lost. If the URL
// has a path, the fake writes what it is asked to do into that file.
type fake struct {
	u    *url.URL
	q    url.Values
	o    locks.Options
	lost chan error

	asked   chan []byte
	record  []byte
	resumed bool
}

func openFake(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	f := &fake{u: u, q: u.Query(), o: o, lost: make(chan error, 1), asked: make(chan []byte, 1)}
	for _, name := range f.q["print"] {
		fmt.Println(name) // like a careless library
	}
	if f.q.Has("log") {
		o.Logger.Debug("news")
		o.Logger.Info("news")
		o.Logger.Error("news", "n", 1, "text", "a\x1b[2J")
	}
	if f.q.Has("inherited") {
		return nil, fmt.Errorf("inherited: %v", inherited())
	}
	return f, f.do(ctx, "open")
}

// do does what the URL says for one method.
func (f *fake) do(ctx context.Context, method string) error {
	how := f.q.Get(method)
	f.note(method)
	switch how {
	case "", "ok":
		return nil
	case "held":
		return &locks.HeldError{Status: locks.Status{Held: true, Holder: "somebody\x1b[2J", PID: 7, Token: 1<<64 - 1,
			Since: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}}
	case "year":
		return &locks.HeldError{Status: locks.Status{Held: true, Since: time.Unix(1<<60, 0)}}
	case "parameter":
		return locks.Unknown("fake parameter", "cacrt", []string{"cacert"})
	case "panic":
		panic("the backend broke")
	case "wait":
		<-ctx.Done()
		f.note(method + " cancelled")
		return ctx.Err()
	case "hang":
		time.Sleep(time.Minute)
		return nil
	case "greedy": // succeeds just as it is cancelled
		<-ctx.Done()
		return nil
	case "limited":
		if d, ok := ctx.Deadline(); !ok || time.Until(d) > time.Minute {
			return errors.New("no time limit")
		}
		return nil
	case "plain":
		return errors.New("unclassed")
	}
	if class, late := strings.CutPrefix(how, "late "); late { // what a backend knows when its time is up
		<-ctx.Done()
		e := &locks.Error{Op: method, Backend: "fake://h:1", Name: f.o.Name, Class: classNamed(class), Err: errors.New("no quorum"), Hint: "do this"}
		if class == "held" {
			e.Err = &locks.HeldError{Status: locks.Status{Held: true, Holder: "somebody"}}
		}
		return e.Ended(ctx, class == "")
	}
	if c := classNamed(how); c != nil {
		return &locks.Error{Op: method, Backend: "fake://h:1", Name: f.o.Name, Class: c,
			Err: errors.New("because"), Hint: "do this"}
	}
	return fmt.Errorf("unknown behaviour %q", how)
}

func (f *fake) note(what string) {
	if f.u.Path == "" || f.u.Path == "/" {
		return
	}
	log, err := os.OpenFile(f.u.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer log.Close()
	fmt.Fprintln(log, what)
}

func (f *fake) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	f.note(fmt.Sprintf("try=%v", try))
	n, _ := strconv.Atoi(f.q.Get("waiting"))
	for i := range n { // even with try, which only the helper's end drops
		f.o.Waiting(locks.Waiting{Status: locks.Status{Held: true, Holder: "w"}, Lease: time.Second, Position: n - i})
	}
	method := "acquire"
	if f.resumed {
		method = "go-on"
	}
	if err := f.do(ctx, method); err != nil {
		return locks.Grant{}, err
	}
	ttl, err := time.ParseDuration(f.q.Get("ttl"))
	if err != nil {
		ttl = f.o.TTL
	}
	if f.q.Get("lost") != "" {
		f.lost <- f.do(ctx, "lost")
	}
	return locks.Grant{Token: 1<<64 - 1, TTL: ttl, Clean: true}, nil
}

// Term returns ?term=.
func (f *fake) Term() string { return f.q.Get("term") }

// Adopt loses the adopted lock at once if the URL says so.
func (f *fake) Adopt(term string) error {
	f.note(term)
	if f.q.Get("adopted") != "" {
		f.lost <- f.do(context.Background(), "adopted")
	}
	return f.do(context.Background(), "adopt")
}

// Place returns ?place=.
func (f *fake) Place() string { return f.q.Get("place") }

func (f *fake) Resume(place string) error {
	f.note(place)
	f.resumed = true
	return f.do(context.Background(), "resume")
}

func (f *fake) Renew(ctx context.Context) error   { return f.do(ctx, "renew") }
func (f *fake) Release(ctx context.Context) error { return f.do(ctx, "release") }
func (f *fake) Lost() <-chan error                { return f.lost }
func (f *fake) Close() error                      { f.note("close"); return nil }

// Abilities returns those of the URL: ?can=inspect&can=record.
func (f *fake) Abilities(context.Context) (can []locks.Ability, err error) {
	for _, a := range f.q["can"] {
		can = append(can, locks.Ability(a))
	}
	return can, nil
}

// Inspect returns ?queue= waiters with long names.
func (f *fake) Inspect(ctx context.Context) (locks.State, error) {
	st := locks.State{Status: locks.Status{Held: true, Holder: "me", PID: f.o.PID, Token: 7, Waiters: 1, NoResign: true}}
	st.Queue = []locks.Place{{Holder: "w", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Priority: 5000}}
	if n, _ := strconv.Atoi(f.q.Get("queue")); n > 0 {
		place := locks.Place{Holder: strings.Repeat("\x01", 5000), RunID: strings.Repeat("\xff", 5000), Since: time.Unix(1<<60, 0), Priority: -5000}
		st.Holder, st.Host, st.Queue = place.Holder, place.Holder, slices.Repeat([]locks.Place{place}, n)
		st.PID, st.TTL, st.Confirm, st.Waiters, st.Start = -1, -1, -1, -1, "sideways"
		st.Advertise = strings.Repeat("\x01", maxLine)
		st.Details = slices.Repeat([]string{place.Holder}, n)
	}
	return st, f.do(ctx, "inspect")
}

func (f *fake) Record(ctx context.Context) ([]byte, error) {
	if f.q.Has("text") {
		f.record = []byte(f.q.Get("text"))
	}
	return f.record, f.do(ctx, "record")
}

func (f *fake) SetRecord(ctx context.Context, text []byte) error {
	f.record = append([]byte{}, text...)
	return f.do(ctx, "set_record")
}

func (f *fake) Ask(ctx context.Context, _ uint64, text []byte) error {
	f.asked <- text
	return f.do(ctx, "ask")
}

func (f *fake) Asked() <-chan []byte { return f.asked }
func (f *fake) SecretEnv() []string  { return []string{"FAKE_PASSWORD"} }
