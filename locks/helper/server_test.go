package helper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

const openLine = `{"id":1,"method":"open","protocol":1,"url":"fake:","name":"n","ttl_ns":15000000000,"connect_timeout_ns":1000000000}`

// openAble returns the line that opens a fake with these abilities.
func openAble(can ...string) string {
	return strings.Replace(openLine, "fake:", "fake:///?"+url.Values{"can": can}.Encode(), 1)
}

// converse runs a server. In the script, "> " begins a line from the core, and "< " the
// answer that must follow.
func converse(t *testing.T, open locks.Opener, script string) (logged string, err error) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var log strings.Builder
	done := make(chan error, 1)
	go func() {
		done <- newServer("fake", open, out, &log).serve(in, "v1")
		_ = out.Close()
	}()
	answers := bufio.NewScanner(fromServer)
	for line := range strings.Lines(script) {
		switch what, text := line[:2], strings.TrimSuffix(line[2:], "\n"); what {
		case "> ":
			go func() { _, _ = fmt.Fprintln(toServer, text) }()
		case "< ":
			if !answers.Scan() {
				t.Fatalf("no answer; want %s", text)
			}
			if got := answers.Text(); got != text {
				t.Fatalf("got  %s\nwant %s", got, text)
			}
		}
	}
	_ = toServer.Close()
	for answers.Scan() {
		t.Errorf("an answer too many: %s", answers.Text())
	}
	return log.String(), <-done
}

// isIdle checks that nothing is under way when a server has returned. The server lingers
// only for a limited time.
func (s *server) isIdle(t *testing.T) {
	t.Helper()
	idle := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(idle)
	}()
	if !closedWithin(idle, limit) {
		t.Error("calls go on after the end of the input")
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	const hello = `< {"event":"hello","protocol":[1],"scheme":"fake","version":"v1"}` + "\n"
	for _, tt := range []struct{ name, url, script string }{
		{"nothing", "fake:", ""},
		{"a term", "fake:", "> " + openLine + `
< {"id":1,"result":{"secret_env":["FAKE_PASSWORD"]}}
> {"id":2,"method":"acquire","try":true}
< {"id":2,"result":{"token":18446744073709551615,"ttl_ns":15000000000,"clean":true}}
> {"id":3,"method":"renew","timeout_ns":1000000000}
< {"id":3,"result":{}}
> {"id":"guard","method":"release","new":[{}]}
< {"id":"guard","result":{}}
`},
		{"a method of the future", "fake:", "> " + openLine + `
< {"id":1,"result":{"secret_env":["FAKE_PASSWORD"]}}
> {"id":2,"method":"divine"}
< {"id":2,"error":{"class":"usage","message":"unknown method \"divine\""}}
`},
		{"abilities", "fake:", "> " + openAble("inspect", "queue", "record", "ask", "fly") + `
< {"id":1,"result":{"secret_env":["FAKE_PASSWORD"],"can":["inspect","queue","record","ask"]}}
> {"id":2,"method":"inspect"}
< {"id":2,"result":{"state":{"held":true,"holder":"me","token":7,"waiters":1,"no_resign":true,"queue":[{"holder":"w","since":"2026-01-02T03:04:05Z","priority":1000}]}}}
> {"id":3,"method":"record"}
< {"id":3,"result":{}}
> {"id":4,"method":"set_record","text":"a\u0000\"<"}
< {"id":4,"result":{}}
> {"id":5,"method":"record"}
< {"id":5,"result":{"record":"a\u0000\"<"}}
> {"id":6,"method":"set_record"}
< {"id":6,"result":{}}
> {"id":7,"method":"record"}
< {"id":7,"result":{"record":""}}
> {"id":8,"method":"ask","token":7,"text":"resign"}
< {"id":8,"result":{}}
> {"id":9,"method":"acquire"}
< {"id":9,"result":{"token":18446744073709551615,"ttl_ns":15000000000,"clean":true}}
< {"event":"asked","text":"resign"}
`},
		{"texts too long", "fake:", "> " + openAble("record", "ask") + `
< {"id":1,"result":{"secret_env":["FAKE_PASSWORD"],"can":["record","ask"]}}
> {"id":2,"method":"set_record","text":"` + strings.Repeat("x", locks.MaxRecord+1) + `"}
< {"id":2,"error":{"class":"usage","message":"text of 4097 bytes; at most 4096 are allowed"}}
> {"id":3,"method":"ask","token":7,"text":"` + strings.Repeat("x", locks.MaxRecord+1) + `"}
< {"id":3,"error":{"class":"usage","message":"text of 4097 bytes; at most 4096 are allowed"}}
> {"id":4,"method":"record"}
< {"id":4,"result":{}}
`},
		{"what an operator asks", "fake:", "> " + openAble("list", "watch", "break", "probe", "forget") + `
< {"id":1,"result":{"secret_env":["FAKE_PASSWORD"],"can":["list","watch","break","probe","forget"]}}
> {"id":2,"method":"list"}
< {"id":2,"result":{"page":[{"name":"a#1","status":{"held":true,"holder":"me","left_ns":-1,"token":7,"start":"clean"},"record":""},{"name":"b","status":{"held":false}}],"next":"b"}}
> {"id":3,"method":"list","cursor":"b"}
< {"id":3,"result":{}}
> {"id":4,"method":"watch","all":true}
< {"event":"changed","id":4}
> {"id":4,"method":"cancel"}
< {"id":4,"result":{}}
> {"id":5,"method":"break","token":7}
< {"id":5,"result":{}}
> {"id":6,"method":"probe"}
< {"id":6,"result":{"servers":{"product":"fake","servers":[{"address":"h:1","version":"1.0","rtt_ns":1000}],"findings":[{"check":"c","level":"ok"}]}}}
> {"id":7,"method":"forget"}
< {"id":7,"result":{}}
> {"id":8,"method":"list","cursor":"` + strings.Repeat("x", locks.MaxCursor+1) + `"}
< {"id":8,"error":{"class":"usage","message":"a cursor that no list returned"}}
`},
		{"no such process", "fake:", "> " + strings.Replace(openLine, `"n"`, `"n","pid":-1`, 1) + `
< {"id":1,"error":{"class":"usage","message":"a process id of -1"}}
> {"id":2,"method":"acquire"}
< {"id":2,"error":{"class":"usage","message":"a process id of -1"}}
`},
		{"no such priority", "fake:", "> " + strings.Replace(openLine, `"n"`, `"n","priority":1001`, 1) + `
< {"id":1,"error":{"class":"usage","message":"a priority of 1001 is not in [-1000, 1000]"}}
`},
		{"a cancel too late", "fake:", "> " + openLine + `
< {"id":1,"result":{"secret_env":["FAKE_PASSWORD"]}}
> {"id":1,"method":"cancel"}
> {"id":2,"method":"renew"}
< {"id":2,"result":{}}
`},
		{"another protocol", "fake:", "> " + strings.Replace(openLine, `"protocol":1`, `"protocol":2`, 1) + `
< {"id":1,"error":{"class":"usage","message":"the core speaks protocol 2, this helper 1"}}
`},
		{"another scheme", "fake:", "> " + strings.Replace(openLine, `fake:`, `etcd://u:p@h`, 1) + `
< {"id":1,"error":{"class":"usage","message":"this helper serves fake, not \"etcd\""}}
`},
		{"no URL", "fake:", "> " + strings.Replace(openLine, `fake:`, `fake://u:p@%zz`, 1) + `
< {"id":1,"error":{"class":"usage","message":"malformed URL"}}
`},
		{"no name", "fake:", "> " + strings.Replace(openLine, `"n"`, `"../n"`, 1) + `
< {"id":1,"error":{"class":"usage","message":"lock name \"../n\": has the part \"..\" between slashes"}}
`},
		{"no connect timeout", "fake:", "> " + strings.Replace(openLine, `1000000000}`, `-1}`, 1) + `
< {"id":1,"error":{"class":"usage","message":"a connect timeout of -1ns is not in (0, 1h]"}}
`},
		{"no log level", "fake:", "> " + strings.Replace(openLine, `"n"`, `"n","log_level":"loud"`, 1) + `
< {"id":1,"error":{"class":"usage","message":"unknown log level"}}
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			logged, err := converse(t, openFake, hello+tt.script)
			if err != nil || logged != "" {
				t.Errorf("got %v, and in the log %q", err, logged)
			}
		})
	}
}

// TestBadRequests checks that each ends the session with a message.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"\n":                          "not a request",
		"garbage":                     "not a request",
		`{"id":1,"method":7}`:         "not a request",
		`[]`:                          "not a request",
		`null`:                        "usable id",
		`{"method":"open"}`:           "usable id",
		`{"id":1.5,"method":"open"}`:  "usable id",
		`{"id":[1],"method":"open"}`:  "usable id",
		`{"id":null,"method":"open"}`: "usable id",
		`{"id":"` + strings.Repeat("x", 70) + `","method":"open"}`:              "usable id",
		`{"id":1,"method":"renew"}`:                                             "before open",
		`{"id":1,"method":"surprise"}`:                                          "before open",
		openLine + "\n" + strings.Replace(openLine, `"id":1`, `"id":2`, 1):      "a second open",
		openLine + "\n" + `{"id":2,"method":"renew","timeout_ns":-1}`:           "negative time limit",
		openLine + "\n" + strings.Repeat(`{"id":2,"method":"acquire"}`+"\n", 2): "two requests",
		strings.Repeat("x", maxLine):                                            "longer than 64 KiB",
		openLine + "\n" + many(`{"id":%d,"method":"acquire"}`, maxCalls+2):      "requests at once",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			open := func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
				return openFake(ctx, &url.URL{RawQuery: "acquire=wait"}, o)
			}
			s := newServer("fake", open, io.Discard, io.Discard)
			err := s.serve(strings.NewReader(lines+"\n"), "")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v; want %q", err, want)
			}
			s.isIdle(t)
		})
	}
	if err := newServer("fake", openFake, io.Discard, io.Discard).serve(strings.NewReader(openLine), ""); !errors.Is(err, errHalfLine) {
		t.Errorf("half a line: %v", err)
	}
}

func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+2)
	}
	return b.String()
}

// A script is a backend whose methods the test provides.
type script struct {
	fake
	acquire func(context.Context) (locks.Grant, error)
	release func(context.Context) error
}

func (s *script) Acquire(ctx context.Context, _ bool) (locks.Grant, error) { return s.acquire(ctx) }
func (s *script) Release(ctx context.Context) error                        { return s.release(ctx) }

func (s *script) open(context.Context, *url.URL, locks.Options) (locks.Lock, error) { return s, nil }

// A client is a core that the test controls.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	said chan string // each line of the server
	done chan error  // what serve returned
}

func newClient(t *testing.T, open locks.Opener) *client {
	in, toServer := io.Pipe()
	c := &client{t: t, in: toServer, said: make(chan string, 100), done: make(chan error, 1)}
	go func() { c.done <- newServer("fake", open, c, io.Discard).serve(in, "") }()
	c.send(openLine)
	c.expect("hello")
	c.expect(`"id":1,`)
	return c
}

func (c *client) Write(line []byte) (int, error) {
	c.said <- string(line)
	return len(line), nil
}

func (c *client) send(line string) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Error(err)
	}
}

func (c *client) expect(part string) {
	c.t.Helper()
	select {
	case line := <-c.said:
		if !strings.Contains(line, part) {
			c.t.Errorf("got %s; want %s", line, part)
		}
	case <-time.After(limit):
		c.t.Fatalf("did not get %s", part)
	}
}

// leave ends the input, and waits for the server.
func (c *client) leave() {
	c.t.Helper()
	_ = c.in.Close()
	checkClass(c.t, "serve", drive.Within(c.t, limit, c.done), nil)
}

// TestGrantAfterTheEnd checks that a lock that becomes ours after the core is gone is
// released.
func TestGrantAfterTheEnd(t *testing.T) {
	t.Parallel()
	asked, released := make(chan struct{}), false
	s := &script{
		fake: fake{u: &url.URL{}},
		acquire: func(ctx context.Context) (locks.Grant, error) {
			close(asked)
			<-ctx.Done()
			return locks.Grant{Token: 1}, nil
		},
		release: func(ctx context.Context) error { released = true; return ctx.Err() },
	}
	c := newClient(t, s.open)
	c.send(`{"id":2,"method":"acquire"}`)
	<-asked
	c.leave()
	c.expect("error")
	if !released {
		t.Error("not released")
	}
}

// TestOpenInVain checks that the backend is opened even if the input has ended meanwhile.
// Calls that waited for that find a lock, or the reason why there is none.
func TestOpenInVain(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // because a select picks any ready case
		s := newServer("fake", openFake, io.Discard, io.Discard)
		var open request
		if err := json.Unmarshal([]byte(openLine), &open); err != nil {
			t.Fatal(err)
		}
		s.run(ended, &call{request: open, server: s, method: s.methods[methodOpen]})
		if s.openErr != nil || s.lock == nil {
			t.Fatalf("got the lock %v, %v", s.lock, s.openErr)
		}
	}
}

// TestHeldAtTheEnd checks that a lock that the core knows to be held is left alone,
// because the job may still be running.
func TestHeldAtTheEnd(t *testing.T) {
	t.Parallel()
	s := &script{
		fake:    fake{u: &url.URL{}},
		acquire: func(context.Context) (locks.Grant, error) { return locks.Grant{Token: 1}, nil },
		release: func(context.Context) error { t.Error("released"); return nil },
	}
	c := newClient(t, s.open)
	c.send(`{"id":2,"method":"acquire"}`)
	c.expect(`"id":2,"result"`)
	c.leave()
}

// TestReleaseOutlivesTheEnd checks that a requested release continues although the input
// ends meanwhile, whoever requested it.
func TestReleaseOutlivesTheEnd(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}), make(chan struct{})
	s := &script{
		fake:    fake{u: &url.URL{}},
		acquire: func(context.Context) (locks.Grant, error) { return locks.Grant{Token: 1}, nil },
		release: func(ctx context.Context) error { close(asked); <-goOn; return ctx.Err() },
	}
	c := newClient(t, s.open)
	c.send(`{"id":2,"method":"acquire"}`)
	c.expect(`"id":2,"result"`)
	c.send(`{"id":"guard","method":"release"}`)
	<-asked
	time.AfterFunc(50*time.Millisecond, func() { close(goOn) })
	c.leave()
	c.expect(`"id":"guard","result"`)
}

// TestRenewEndsWithTheInput checks that nothing keeps a lease alive for a dead core.
func TestRenewEndsWithTheInput(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(_ context.Context, _ *url.URL, o locks.Options) (locks.Lock, error) {
		return openFake(t.Context(), &url.URL{RawQuery: "renew=wait"}, o)
	})
	c.send(`{"id":2,"method":"renew"}`)
	begun := time.Now()
	c.leave()
	c.expect(`"id":2,"error"`)
	if took := time.Since(begun); took > linger/2 {
		t.Errorf("it took %v", took)
	}
}

// TestOneRenewAtATime checks that a backend does not see a second renewal while it still
// runs one that the core gave up.
func TestOneRenewAtATime(t *testing.T) {
	t.Parallel()
	s := &serial{script: script{fake: fake{u: &url.URL{}}}}
	c := newClient(t, func(context.Context, *url.URL, locks.Options) (locks.Lock, error) { return s, nil })
	for id := range 8 {
		c.send(fmt.Sprintf(`{"id":%d,"method":"renew"}`, id+2))
	}
	for range 8 {
		c.expect(`"result"`)
	}
	c.leave()
	if s.most.Load() != 1 {
		t.Errorf("%d renewals at once", s.most.Load())
	}
}

// A serial counts concurrent renewals.
type serial struct {
	script
	now, most atomic.Int32
}

func (s *serial) Renew(context.Context) error {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	s.most.Store(max(s.most.Load(), n))
	time.Sleep(time.Millisecond) // long enough for another to begin
	return nil
}

// taken is a backend that learns of a loss and, just before, why.
type taken struct {
	*fake
	watched bool // it learns of both as it acquires; else as it renews
}

func (l taken) lose() error {
	l.asked <- []byte("why")
	return locks.LostError("gone")
}

func (l taken) Acquire(context.Context, bool) (locks.Grant, error) {
	if l.watched {
		l.lost <- l.lose()
	}
	return locks.Grant{Token: 1}, nil
}

func (l taken) Renew(context.Context) error {
	if l.watched {
		return nil
	}
	return l.lose()
}

// TestReasonBeforeLoss checks that the answer with a loss, or the event, does not overtake the
// request that says why.
func TestReasonBeforeLoss(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{false, true} {
		open := func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
			l, err := openFake(ctx, u, o)
			return taken{l.(*fake), watched}, err
		}
		for range 200 {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			s := newServer("fake", open, out, io.Discard)
			go func() {
				_ = s.serve(in, "v1")
				_ = out.Close()
			}()
			go func() {
				_, _ = fmt.Fprintln(toServer, openLine+"\n"+`{"id":2,"method":"acquire"}`)
				<-s.opened
				for !s.granted.Load() {
					time.Sleep(time.Millisecond)
				}
				_, _ = fmt.Fprintln(toServer, `{"id":3,"method":"renew"}`)
			}()
			why := false
			for lines := bufio.NewScanner(fromServer); lines.Scan() && !strings.Contains(lines.Text(), "gone"); {
				why = why || strings.Contains(lines.Text(), "why")
			}
			_ = toServer.Close()
			_, _ = io.Copy(io.Discard, fromServer)
			if !why {
				t.Fatalf("watched=%v: the loss was reported without the reason", watched)
			}
		}
	}
}
