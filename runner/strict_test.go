package runner

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// strict sets Strict. The previous term was another holder's, with a ttl of 40 s.
func (r *rig) strict(clean bool) {
	r.c.Strict = true
	r.acquire = []acquisition{unclean}
	record := &ledger.Record{Term: &ledger.Term{Token: 3, TTL: int64(40 * time.Second), By: "bob", Clean: clean}}
	text, err := record.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	r.shelf.text = text
}

// unclean gets the lock at once. The server does not know that it was released.
func unclean(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
	grant, err := granted(ctx, h, try)
	grant.Clean = false
	return grant, err
}

// A holder that did not release may trust its lease until its end. Our own term is noted before
// the job starts, and its good end before the lock is released.
func TestStrict(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.job.begin = func(j *job) {
			if term := r.recorded().Term; *term != (ledger.Term{Token: token, TTL: int64(ttl), By: "host/1/a"}) {
				t.Errorf("at the start: got %+v, want our term", term)
			}
			forks(time.Second, 0)(j)
		}
		r.job.on = tidiesAll
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("0s open", "0s acquire", "0s set record", "0s entrust", "40s set record", "40s start", "41s exit", "41s signal TERM", "43s the rest ends",
			"43s set record", "43s release", "43s close")
		if term := r.recorded().Term; *term != (ledger.Term{Token: token, TTL: int64(ttl), By: "host/1/a", Clean: true}) {
			t.Errorf("at the end: got %+v, want a clean term", term)
		}
	})
}

// tidiesAll ends the processes that are left two seconds after a signal.
func tidiesAll(j *job, sig syscall.Signal) {
	if signals.Ending(sig) {
		time.AfterFunc(2*time.Second, func() { j.leave(0) })
	}
}

func TestStrictNeedsNoWait(t *testing.T) {
	for name, f := range map[string]func(*rig){
		"noted clean":         func(r *rig) { r.strict(true) },
		"the server knows it": func(r *rig) { r.strict(false); r.acquire = []acquisition{granted} },
		"not strict":          func(r *rig) { r.strict(false); r.c.Strict = false },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				f(r)
				r.job.begin = runs(time.Second, 0)
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{})
				if at := r.when("start"); at != 0 {
					t.Errorf("started at %v, want at once", at)
				}
			})
		})
	}
}

// Deleting a lock may delete its record. Then there may be a holder with a lease like ours.
func TestStrictWhenNothingIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.shelf.text = nil
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if at := r.when("start"); at != ttl {
			t.Errorf("started at %v, want %v", at, ttl)
		}
	})
}

// However long a lease the record claims, the wait is at most the longest possible lease.
func TestStrictIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.shelf.text = quoted(map[string]any{"v": 1, "term": ledger.Term{TTL: 1 << 62}})
		r.send(seconds(3600), syscall.SIGTERM)
		exit, err := r.run()
		r.signalled(exit, err, syscall.SIGTERM)
		r.did("0s open", "0s acquire", "0s set record", "0s entrust", "1h0m0s release", "1h0m0s close")
		if got := r.attr("wait"); got != timing.MaxTTL.String() {
			t.Errorf("waits for %s, want %v", got, timing.MaxTTL)
		}
	})
}

// attr returns a logged value of a key.
func (r *rig) attr(key string) (value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.log {
		rec.Attrs(func(a slog.Attr) bool {
			if a.Key == key {
				value = a.Value.String()
			}
			return true
		})
	}
	return value
}

// Anything that ends the term ends the wait. The record says that the previous term has not
// certainly ended, although the lock is released.
func TestStrictWaitEnds(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*rig)
		want error
	}{
		"signal":  {func(r *rig) { r.signals <- syscall.SIGTERM }, new(SignalError)},
		"request": {func(r *rig) { r.asked <- Request{}.Encode() }, new(ResignError)},
		"loss":    {func(r *rig) { r.server.evict(); r.lost <- locks.ErrLost }, locks.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.strict(false)
				r.at(10*time.Second, func() { test.do(r) })
				_, err := r.run()
				if !errors.Is(err, test.want) && !sameType(err, test.want) {
					t.Errorf("got %v, want %T", err, test.want)
				}
				r.did("0s open", "0s acquire", "0s set record", "0s entrust", "10s release", "10s close")
				if term := r.recorded().Term; term.Token != 3 || term.Clean || term.Unproved == nil {
					t.Errorf("got %+v, want the previous term", term)
				}
			})
		})
	}
}

// A run that may not wait for the end of the previous lease does not get the lock, and names its
// holder. Those after it do not take its release for that of the previous holder. On the same
// machine, they know how long ago it was.
func TestStrictIsInTheWait(t *testing.T) {
	const former = 40 * time.Second
	for name, tt := range map[string]struct {
		limit func(*Options)
		pause time.Duration // from the first run to the second
		epoch string        // of the first; "": ours
		wants time.Duration // how long the second waits
	}{
		"-n":              {func(c *Options) { c.Try = true }, 15 * time.Second, "", 25 * time.Second},
		"-n, much later":  {func(c *Options) { c.Try = true }, time.Hour, "", 0},
		"-w":              {func(c *Options) { c.Wait = new(former - 1) }, 15 * time.Second, "", 25 * time.Second},
		"another machine": {func(c *Options) { c.Try = true }, time.Hour, "elsewhere", former},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.strict(false)
				unlimited := r.c
				tt.limit(&r.c)
				_, err := Run(t.Context(), &r.host, &r.watch, r.c)
				held, ok := errors.AsType[*locks.HeldError](err)
				if !ok || held.Status.Holder != "bob" {
					t.Fatalf("got %v, want held by bob", err)
				}
				r.did("0s open", "0s acquire", "0s set record", "0s release", "0s close")
				if term := r.recorded().Term; term.Token != 3 || len(term.Unproved.Seen) != 1 {
					t.Fatalf("got %+v, want the previous term", term)
				}
				if tt.epoch != "" {
					record := r.recorded()
					record.Term.Unproved.Seen = map[string]int64{tt.epoch: 1}
					r.shelf.text, _ = record.Encode()
				}
				time.Sleep(tt.pause)
				r.c, r.acquire = unlimited, []acquisition{granted} // the server knows of a release: ours
				r.job.begin = runs(time.Second, 0)
				began := r.now()
				_, err = Run(t.Context(), &r.host, &r.watch, r.c)
				if waited := r.when("start") - began; err != nil || waited != tt.wants {
					t.Errorf("the next run waits %v, %v; want %v", waited, err, tt.wants)
				}
				if term := r.recorded().Term; term.By != "host/1/a" || term.Unproved != nil || !term.Clean {
					t.Errorf("got %+v, want our term", term)
				}
			})
		})
	}
}

// If it cannot be noted that we have not waited, the lock is not released.
func TestStrictKeeps(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.c.Try, r.renew = true, silentAfter(0)
		r.shelf.write = func(int) reply { return reply{err: errDown} }
		if _, err := Run(t.Context(), &r.host, &r.watch, r.c); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("got %v, want held", err)
		}
		if got := r.times("release"); len(got) != 0 {
			t.Errorf("released at %v", got)
		}
		time.Sleep(time.Minute) // our lease ends
	})
}

// A term that has not ended well is not noted as clean: processes of the job may be left, or the
// lock is not ours.
func TestStrictNotClean(t *testing.T) {
	for name, f := range map[string]func(*rig){
		"unkillable": func(r *rig) {
			r.outlived, r.job.immortal, r.job.on = true, true, deaf
			r.renew = silentAfter(0)
		},
		"loss": func(r *rig) { r.at(time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost }) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.strict(true)
				f(r)
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				if term := r.recorded().Term; term.Token != token || term.Clean {
					t.Errorf("got %+v, want our term, not clean", term)
				}
			})
		})
	}
}

// A term in which the job was not started also ends well, whatever arrives while that is
// noted.
func TestStrictMarkIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(true)
		r.hooks(map[string]func(*job){"elected": runs(time.Second, 1)})
		r.shelf.write = failing(2, 10)
		r.send(seconds(2.5), syscall.SIGTERM)
		if _, err := r.run(); !errors.As(err, new(*ResignError)) {
			t.Errorf("got %v, want a ResignError", err)
		}
		if term := r.recorded().Term; !term.Clean {
			t.Errorf("got %+v, want a clean term", term)
		}
	})
}

func TestStrictMarkFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(true)
		r.job.begin = runs(time.Second, 0)
		r.shelf.write = failing(2, 1e9)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.warned(`the next holder will wait for the end of our lease: acquire "nightly" on model: connection refused`)
	})
}

// A lock without a lease cannot be lost early.
func TestStrictPermanent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.strict(false)
		r.permanent, r.server.ttl, r.shelf.cannot = true, 0, true
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if r.shelf.reads+r.shelf.writes > 0 {
			t.Error("the record was used")
		}
	})
}

// A backend that lacks an ability is refused before the campaign.
func TestRequire(t *testing.T) {
	n := 1
	for name, f := range map[string]func(*Options){
		"once":     func(c *Options) { c.Once = new(Once) },
		"strict":   func(c *Options) { c.Strict = true },
		"priority": func(c *Options) { c.Priority = &n },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.shelf.cannot = true
				f(&r.c)
				exit, err := r.run()
				r.failed(exit, err, locks.ErrUsage)
				r.did("0s open", "0s close")
			})
		})
	}
}
