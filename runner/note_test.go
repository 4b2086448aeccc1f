package runner

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A shelf is the record that a model server keeps with the lock, and its queue.
type shelf struct {
	text   []byte
	read   func(n int) reply // the reply to the n-th Record, from 1; nil: the server's own
	write  func(n int) reply // the reply to the n-th SetRecord
	reads  int
	writes int
	drains []ledger.Stopping // what was written about stops

	queue   []locks.Place
	inspect reply
	takes   time.Duration // an Inspect
	cannot  bool          // the backend has no abilities
}

func (h *handle) Abilities(context.Context) ([]locks.Ability, error) {
	if h.shelf.cannot {
		return nil, nil
	}
	return []locks.Ability{locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk}, nil
}

func (h *handle) Record(ctx context.Context) (text []byte, err error) {
	h.shelf.reads++
	err = chosen(h.shelf.read, h.shelf.reads).run(ctx, func() error { text = h.shelf.text; return nil })
	return text, err
}

func (h *handle) SetRecord(ctx context.Context, text []byte) error {
	h.shelf.writes++
	return chosen(h.shelf.write, h.shelf.writes).run(ctx, func() error {
		if h.server.free() {
			return locks.ErrLost
		}
		before, _ := ledger.Read(h.shelf.text)
		if after, _ := ledger.Read(text); after.Stopping != nil && (before.Stopping == nil || *before.Stopping != *after.Stopping) {
			h.shelf.drains = append(h.shelf.drains, *after.Stopping)
		} else {
			h.rig.note("set record")
		}
		h.shelf.text = text
		return nil
	})
}

func (h *handle) Inspect(ctx context.Context) (st locks.State, err error) {
	time.Sleep(h.shelf.takes)
	err = h.shelf.inspect.run(ctx, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		st.Queue = h.shelf.queue
		if of, ok := h.queue[h.n]; ok {
			st.Queue = of
		}
		return nil
	})
	return st, err
}

func chosen(f func(int) reply, n int) reply {
	if f == nil {
		return reply{}
	}
	return f(n)
}

// recorded returns the current record.
func (r *rig) recorded() *ledger.Record {
	r.t.Helper()
	record, err := ledger.Read(r.shelf.text)
	if err != nil {
		r.t.Fatal(err)
	}
	return record
}

var (
	_ locks.Able      = (*handle)(nil)
	_ locks.Recorder  = (*handle)(nil)
	_ locks.Inspector = (*handle)(nil)
)

// If the record cannot be read for a while, it is read later, and the job starts after that.
func TestNoteIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.oncePer("day", 1)
		r.shelf.read = failing(1, 3)
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("0s open", "0s acquire", "600ms start", "1.6s exit", "1.6s set record", "1.6s release", "1.6s close")
	})
}

// Attempts end after 10 s, or at D_signal.
func TestNoteGivesUp(t *testing.T) {
	for name, test := range map[string]struct {
		renew func(int) reply
		last  time.Duration
		want  error
	}{
		"limit":    {func(int) reply { return reply{} }, 10 * time.Second, errDown},
		"D_signal": {silentAfter(0), seconds(8), errDown},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.oncePer("day", 1)
				r.shelf.read, r.renew = failing(1, 1e9), test.renew
				_, err := r.run()
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				r.did("0s open", "0s acquire", test.last.String()+" release", test.last.String()+" close")
			})
		})
	}
}

// A missing answer is an outage, whatever its class, and not an internal error.
func TestNoteUnavailable(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.oncePer("day", 1)
		r.shelf.read = func(int) reply { return reply{silent: true} }
		_, err := r.run()
		r.failed(proc.Exit{}, err, locks.ErrUnavailable)
	})
}

// Errors that another attempt would meet again are final.
func TestNoteDoesNotInsist(t *testing.T) {
	for name, f := range map[string]func(*rig){
		"denied":  func(r *rig) { r.shelf.read = func(int) reply { return reply{err: errDenied} } },
		"lost":    func(r *rig) { r.shelf.read = func(int) reply { return reply{err: locks.ErrLost} } },
		"no JSON": func(r *rig) { r.shelf.text = []byte("{") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.oncePer("day", 1)
				f(r)
				if _, err := r.run(); err == nil {
					t.Error("got no error")
				}
				if r.shelf.reads != 1 || r.when("release") != 0 {
					t.Errorf("%d reads; got %q, want one read", r.shelf.reads, r.trace)
				}
			})
		})
	}
}

// Before the job, a signal, a request or a loss ends the term, and the job is not started.
func TestNoteIsEnded(t *testing.T) {
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
				r.oncePer("day", 1)
				r.shelf.read = failing(1, 20) // until 4 s
				r.at(seconds(1.5), func() { test.do(r) })
				_, err := r.run()
				if !errors.Is(err, test.want) && !sameType(err, test.want) {
					t.Errorf("got %v, want %T", err, test.want)
				}
				r.did("0s open", "0s acquire", "1.5s release", "1.5s close")
			})
		})
	}
}

func sameType(err, want error) bool {
	switch want.(type) {
	case *SignalError:
		return errors.As(err, new(*SignalError))
	case *ResignError:
		return errors.As(err, new(*ResignError))
	}
	return false
}

// A success is noted even if a signal or a request arrives after the job has ended.
func TestNoteAfterTheJob(t *testing.T) {
	for name, do := range map[string]func(*rig){
		"signal":  func(r *rig) { r.signals <- syscall.SIGTERM },
		"signals": func(r *rig) { r.signals <- syscall.SIGTERM; r.signals <- syscall.SIGTERM },
		"request": func(r *rig) { r.asked <- Request{}.Encode() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.oncePer("day", 1)
				r.job.begin = runs(time.Second, 0)
				r.shelf.write = failing(1, 5)
				r.at(seconds(1.5), func() { do(r) })
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{})
				if _, done := r.recorded().Done("day", 1); !done {
					t.Error("the success was not noted")
				}
			})
		})
	}
}

// After a loss, the record is not written.
func TestNoteAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.oncePer("day", 1)
		r.job.begin = runs(time.Second, 0)
		r.shelf.write = failing(1, 1e9)
		r.send(seconds(1.1), syscall.SIGTERM)
		r.at(seconds(1.5), func() { r.server.evict(); r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{}) // it had ended under the lock
		if r.shelf.writes > 5 || r.when("release") != seconds(1.5) {
			t.Errorf("%d writes; got %q, want none after 1.5s", r.shelf.writes, r.trace)
		}
	})
}

// quoted returns a value as JSON.
func quoted(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
