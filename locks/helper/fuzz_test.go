package helper

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// FuzzHelper is a helper that sends anything. The core must end the session, return an
// error to every caller, and not believe in a lock that it did not request.
func FuzzHelper(f *testing.F) {
	const hello = `{"event":"hello","protocol":[1],"scheme":"fake","version":"1"}` + "\n"
	const ready = hello + `{"id":1,"result":{"secret_env":["A"]}}` + "\n"
	for _, s := range []string{
		"", "\n", "{}\n", "null\n", hello, hello + hello, ready,
		ready + `{"event":"waiting","id":2,"waiting":{"status":{"held":true,"holder":"h","since":"2026-01-02T03:04:05Z"},"lease_ns":1}}` + "\n",
		ready + `{"id":2,"result":{"token":7,"ttl_ns":15000000000,"clean":true}}` + "\n" + `{"id":3,"result":{}}` + "\n",
		ready + `{"id":2,"result":{"token":7}}` + "\n" + `{"event":"lost","error":{"class":"lost","message":"m"}}` + "\n",
		ready + `{"id":2,"error":{"class":"held","status":{"held":true,"holder":"h","pid":1}}}` + "\n",
		ready + `{"id":4,"result":{"state":{"held":true,"no_resign":true,"queue":[{"holder":"h","since":"2026-01-02T03:04:05Z","priority":-1000}]}}}` + "\n",
		ready + `{"id":5,"result":{"record":""}}` + "\n" + `{"id":6,"result":{}}` + "\n",
		ready + `{"id":2,"result":{"token":7}}` + "\n" + `{"event":"asked","text":"x"}` + "\n",
		hello + `{"id":1,"result":{"can":["inspect","fly","ask"]}}` + "\n",
		ready + `{"event":"listed","id":7,"page":[{"name":"n","status":{"held":true,"left_ns":-1}}]}` + "\n" + `{"id":7,"result":{"page":[{"name":"n#1","record":""}],"next":"x"}}` + "\n",
		ready + strings.Repeat(`{"event":"changed","id":8}`+"\n", 3) + `{"id":8,"result":{}}` + "\n",
		ready + `{"id":9,"result":{"servers":{"product":"p","servers":[{"address":"a","rtt_ns":1,"class":"denied"}],"findings":[{"check":"c","level":"ok"}]}}}` + "\n",
		hello + `{"id":1,"error":{"class":"usage","op":"open","backend":"b","message":"m","hint":"h"}}` + "\n",
		ready + `{"id":3,"error":{"class":"lost"}}`,
		strings.Repeat("[", 20_000) + "\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		s := newSession("fake", locks.Error{Backend: "fake", Name: "n"}, closer{io.Discard})
		s.texts = make(workers.Turn, 2) // two are sent at once
		var calls []*pending
		for _, method := range []string{methodOpen, methodAcquire, methodRenew, methodInspect, methodRecord, methodSetRecord, methodList, methodWatch, methodProbe} {
			p, err := s.send(t.Context(), request{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, p)
		}
		s.giveUp(calls[2])
		if err := s.read(bytes.NewReader(said)); err == nil {
			t.Fatal("read returned without a reason")
		} else {
			s.fail(err)
		}
		for _, p := range calls {
			select {
			case <-p.done:
			default:
				t.Errorf("%s waits forever", p.method.name)
			}
		}
		if p := calls[3]; p.err == nil && (p.result.State == nil || len(p.result.State.Queue) > locks.MaxQueue) {
			t.Errorf("a state of %+v", p.result)
		}
		if p := calls[4]; p.err == nil && p.result.Record != nil && len(*p.result.Record) > locks.MaxRecord {
			t.Errorf("a record of %d bytes", len(*p.result.Record))
		}
		if p := calls[6]; len(p.page) > locks.MaxList || p.err == nil && locks.CheckCursor(p.result.Next) != nil {
			t.Errorf("a page of %d locks, and %+v", len(p.page), p.result)
		}
		for _, one := range calls[6].page {
			if locks.CheckSlotName(one.Name) != nil || len(one.Record) > locks.MaxRecord || one.Status.PID < 0 {
				t.Errorf("listed %+v", one)
			}
		}
		for range calls[7].watch.changed { // until the channel is closed
		}
		if p := calls[7]; p.err == nil && !isClosed(p.watch.begun) {
			t.Error("the watch succeeded but never began")
		}
		if p := calls[8]; p.err == nil && (p.result.Servers == nil || len(p.result.Servers.Servers) > locks.MaxServers || len(p.result.Servers.Findings) > locks.MaxFindings) {
			t.Errorf("servers of %+v", p.result)
		}
		if len(s.texts) > 0 {
			t.Error("the turn of requests with a text was not given back")
		}
		if len(s.asked) > 0 && s.grant == nil {
			t.Error("a request was delivered although nothing is held")
		}
		if !isClosed(s.ready) || len(s.can) > 0 && s.stage != opened {
			t.Errorf("the abilities %q, at stage %v", s.can, s.stage)
		}
		if g := calls[1].result.grant(); g != (locks.Grant{}) && (g.Token == 0 || g.TTL < 0 || g.TTL > maxTTL || s.stage != opened) {
			t.Errorf("granted %+v", g)
		}
		if err := calls[1].err; err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			if className(err) != "held" { // a holder is escaped when it is shown
				t.Errorf("the error has control characters: %q", err)
			}
		}
	})
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

// FuzzCore is a core that sends anything. The helper must answer what it can, and end.
func FuzzCore(f *testing.F) {
	for _, s := range []string{
		"", "\n\n", "{}\n", openLine, openLine + "\n", openLine + "\n" + openLine + "\n",
		openLine + "\n" + `{"id":2,"method":"acquire","try":true}` + "\n" + `{"id":3,"method":"renew"}` + "\n" + `{"id":"x","method":"release"}` + "\n",
		openLine + "\n" + `{"id":2,"method":"acquire","timeout_ns":1}` + "\n" + `{"id":2,"method":"cancel"}` + "\n",
		`{"id":1,"method":"open","protocol":1,"url":"fake:","name":"n","holder":"h","ttl_ns":1,"connect_timeout_ns":1,"log_level":"debug"}` + "\n",
		`{"id":2,"method":"cancel"}` + "\n",
		openLine + "\n" + `{"id":2,"method":"inspect"}` + "\n" + `{"id":3,"method":"record"}` + "\n",
		openLine + "\n" + `{"id":2,"method":"set_record","text":"x"}` + "\n" + `{"id":3,"method":"ask","token":18446744073709551615,"text":""}` + "\n",
		openLine + "\n" + `{"id":2,"method":"list","cursor":"x"}` + "\n" + `{"id":3,"method":"watch","all":true}` + "\n" + `{"id":3,"method":"cancel"}` + "\n",
		openLine + "\n" + `{"id":2,"method":"break","token":1}` + "\n" + `{"id":3,"method":"probe"}` + "\n" + `{"id":4,"method":"forget"}` + "\n",
		strings.Repeat("[", 20_000) + "\n",
	} {
		f.Add([]byte(s))
	}
	open := func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		if err := locks.CheckName(o.Name); err != nil || u.Scheme != "fake" || o.TTL <= 0 || o.ConnectTimeout <= 0 {
			panic("the options were not checked")
		}
		return openFake(ctx, &url.URL{RawQuery: "waiting=2&lost=lost&locks=64&changes=3"}, o)
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		var out bytes.Buffer
		s := newServer("fake", open, &out, io.Discard)
		_ = s.serve(bytes.NewReader(said), "v")
		s.isIdle(t)
		s.out.mu.Lock()
		defer s.out.mu.Unlock()
		for line := range bytes.Lines(out.Bytes()) {
			if len(line) > maxLine || line[len(line)-1] != '\n' {
				t.Errorf("said %q", line)
			}
		}
	})
}
