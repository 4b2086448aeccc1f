package caslease_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// ask leaves a request, by another handle.
func ask(t testing.TB, s *sim, token uint64, text string) {
	t.Helper()
	if err := at(t, s, options("who asks")).(locks.Asker).Ask(drive.Context(t), token, []byte(text)); err != nil {
		t.Fatalf("ask: %v", err)
	}
}

// look renews, waits for the read of requests that follows, and returns the request that it
// delivers, or nil.
func look(t testing.TB, s *sim, l locks.Lock) []byte {
	t.Helper()
	text, _ := looked(t, s, l)
	return text
}

// looked is like look, and reports whether there was a request.
func looked(t testing.TB, s *sim, l locks.Lock) (text []byte, asked bool) {
	t.Helper()
	verbs(s)
	drive.Renew(t, l)
	drive.Eventually(t, drive.Patience, "a read of requests", func() bool { return verbs(s)["ask read"] > 0 })
	drive.Renew(t, l) // the next read begins only after the first has ended
	select {
	case text := <-l.(locks.Asker).Asked():
		return text, true
	case <-time.After(50 * time.Millisecond):
		return nil, false
	}
}

// TestAsk: the next renewal delivers a request, once, if it is for our token. The lock's own cell
// does not change.
func TestAsk(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		g := drive.Hold(t, l)
		before, _ := s.Cell(leaseCell)
		for _, text := range []string{"resign", "resign", "", " é\n\x00\x1b\"", strings.Repeat("é", locks.MaxRecord/2)} {
			ask(t, s, g.Token-1, "another's")
			ask(t, s, g.Token, text)
			if after, _ := s.Cell(leaseCell); after.Version != before.Version {
				t.Fatal("a request has changed the lock's cell")
			}
			drive.Renew(t, l)
			if got := drive.Within(t, drive.Patience, l.(locks.Asker).Asked()); got == nil || string(got) != text {
				t.Errorf("asked %q; want %q", got, text)
			}
			if got := look(t, s, l); got != nil {
				t.Errorf("asked once more: %q", got)
			}
			before, _ = s.Cell(leaseCell)
		}
		for _, token := range []uint64{0, g.Token - 1, g.Token + 1} {
			ask(t, s, token, "another's")
			if got := look(t, s, l); got != nil {
				t.Errorf("asked %q, which is for the token %d; ours is %d", got, token, g.Token)
			}
		}
		s.SetState(requestCell, string(handle.NewRequest(g.Token, "resign"))) // without EncodeText
		if got, asked := looked(t, s, l); asked {
			t.Errorf("asked %q by a text that is not encoded", got)
		}
		for _, text := range []string{"\xff", strings.Repeat("x", locks.MaxRecord+1)} {
			if err := l.(locks.Asker).Ask(drive.Context(t), g.Token, []byte(text)); !errors.Is(err, locks.ErrUsage) {
				t.Errorf("a text of %d bytes: %v; want ErrUsage", len(text), err)
			}
		}
	})
}

// TestAskOvercomes: each of the requests of which an Ask consists fails, with and without a cell
// for it.
func TestAskOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		for _, verb := range []string{"read", "create", "swap"} {
			if name == "412" && verb == "read" {
				continue
			}
			t.Run(name+"/"+verb, func(t *testing.T) {
				bubble(t, func(t *testing.T, s *sim) {
					l := at(t, s, options("a"))
					g := drive.Hold(t, l)
					if verb == "swap" {
						ask(t, s, 1, "earlier")
					}
					s.Next(verb, fault)
					ask(t, s, g.Token, "resign")
					drive.Renew(t, l)
					if got := drive.Within(t, drive.Patience, l.(locks.Asker).Asked()); string(got) != "resign" {
						t.Errorf("asked %q", got)
					}
					if got := look(t, s, l); got != nil {
						t.Errorf("asked once more: %q", got)
					}
				})
			})
		}
	}
}

// TestAskFails: Ask fails in time, and says why.
func TestAskFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault Fault
		class error
	}{
		"denied": {Fault{Err: refuse(causes.Denied, "no")}, locks.ErrDenied},
		"outage": {Fault{Err: refuse(causes.Unknown, "Backend Error")}, locks.ErrUnavailable},
		"silent": {Fault{Drop: true}, locks.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				s.Fault(func(Request) Fault { return tt.fault })
				o := options("b")
				o.ConnectTimeout = time.Second
				err := at(t, s, o).(locks.Asker).Ask(context.Background(), 1, []byte("x"))
				if !errors.Is(err, tt.class) {
					t.Errorf("got %v; want %v", err, tt.class)
				}
			})
		})
	}
}

// TestAskedHangs: a read of requests whose answer does not come does not delay renewals, and no
// second read begins meanwhile. Close ends it.
func TestAskedHangs(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, patiently("a"))
		drive.Hold(t, l)
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		s.Fault(func(r Request) Fault {
			if r.verb() == "ask read" {
				return Fault{Hold: never}
			}
			return Fault{}
		})
		drive.Renew(t, l)
		n := map[string]int{}
		drive.Eventually(t, drive.Patience, "a read of requests", func() bool { maps.Copy(n, verbs(s)); return n["ask read"] > 0 })
		start := time.Now()
		for range 3 {
			drive.Renew(t, l)
		}
		drive.Release(t, l)
		_ = l.Close()
		if took := time.Since(start); took > drive.Patience/2 {
			t.Errorf("the renewals took %v", took)
		}
		if n := verbs(s); n["ask read"] > 0 {
			t.Errorf("requests besides the read that hangs: %v", n)
		}
	})
}

// TestAskedFails: a read of requests that fails is followed by another, and the renewal has
// succeeded all the same.
func TestAskedFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		g := drive.Hold(t, l)
		ask(t, s, g.Token, "resign")
		for name, fault := range passing() {
			if name == "412" {
				continue
			}
			failed := make(chan struct{}, 1)
			s.Fault(func(r Request) Fault {
				if r.verb() != "ask read" || len(failed) > 0 {
					return Fault{}
				}
				failed <- struct{}{}
				return fault
			})
			drive.Eventually(t, drive.Patience, "a read that fails: "+name, func() bool { drive.Renew(t, l); return len(failed) > 0 })
			ask(t, s, g.Token, name)
			drive.Eventually(t, drive.Patience, "a read that succeeds", func() bool {
				drive.Renew(t, l)
				select {
				case text := <-l.(locks.Asker).Asked():
					return string(text) == name
				default:
					return false
				}
			})
		}
	})
}

// TestAskedByAnother: only requests for us are delivered, whatever the cell contains.
func TestAskedByAnother(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		for _, value := range []string{
			"", "null", "[]", `{"token":-1}`, `{"nonce":"n","token":TOKEN}`, `{"nonce":"n","token":TOKEN,"text":"resign"}`,
			`{"nonce":"n","token":TOKEN,"text":"base64:/w=="}`, `{"nonce":"n","token":TOKEN,"text":"base64:` + strings.Repeat("eHh4", 1500) + `"}`,
			`{"nonce":"n","token":TOKEN,"text":"base64:eA==","token":"x"}`, `{"nonce":"n","token":TOKEN,"text":"base64:!"}`, `{"nonce":"n","token":TOKEN,"text":"base64:eA=="}` + strings.Repeat(" ", caslease.MaxRead), strings.Repeat("{", 100<<10), strings.Repeat("x", 300<<10), "\x00\xff",
		} {
			token := strings.Split(strings.SplitAfter(stateOf(t, s)+`"token":0,`, `"token":`)[1], ",")[0]
			s.SetState(requestCell, strings.ReplaceAll(value, "TOKEN", token))
			if got := look(t, s, l); got != nil {
				t.Errorf("asked %q by %s", got, locks.Abbreviate(value))
			}
		}
	})
}

// TestDecodeText: what no request can say is not decoded.
func TestDecodeText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "x": true, "\xff": false, strings.Repeat("x", locks.MaxRecord+1): false} {
		if got, ok := caslease.DecodeText(caslease.EncodeText([]byte(text))); ok != want || ok && string(got) != text {
			t.Errorf("%.5q: got %.5q, %t", text, got, ok)
		}
	}
}
