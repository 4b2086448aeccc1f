package helper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestLastNews checks that a report that arrives just before the grant is delivered.
func TestLastNews(t *testing.T) {
	t.Parallel()
	for range 50 { // because a select picks any ready case
		reports := 0
		l := &Lock{report: func(locks.Waiting) { reports++ }}
		l.at.Store(newSession("fake", locks.Error{}, answerer{func() {
			_ = l.last().read(strings.NewReader(`{"event":"hello","protocol":[1],"scheme":"fake"}
{"event":"waiting","id":1,"waiting":{}}
{"id":1,"error":{"class":"lost"}}
`))
		}}))
		_, err := l.Acquire(t.Context(), false)
		checkClass(t, "acquire", err, locks.ErrLost)
		if reports != 1 {
			t.Fatalf("%d reports", reports)
		}
	}
}

// An answerer answers each line before Write returns.
type answerer struct{ answer func() }

func (a answerer) Write(line []byte) (int, error) { a.answer(); return len(line), nil }
func (a answerer) Close() error                   { return nil }

// TestHelperIsFirst: the helper has the same deadline as the core, and may notice it
// first. The error must wrap the context's error nevertheless, without losing what is
// certain.
func TestHelperIsFirst(t *testing.T) {
	t.Parallel()
	s := new(session)
	for class, want := range map[error]error{
		nil:                  context.DeadlineExceeded,
		locks.ErrUnavailable: context.DeadlineExceeded,
		locks.ErrLost:        locks.ErrLost,
		locks.ErrHeld:        locks.ErrHeld,
		locks.ErrDenied:      locks.ErrDenied,
	} {
		err := (&pending{session: s, method: new(method), err: &remoteError{class, "context deadline exceeded"}}).outcome(newLate(t))
		checkClass(t, "outcome", err, want)
	}
	checkClass(t, "outcome of success", (&pending{session: s}).outcome(newLate(t)), nil)
	err := (&pending{session: s, err: &remoteError{nil, "m"}}).outcome(t.Context())
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a deadline: %v", err)
	}
}

// TestHelperSaysWhy checks that the error contains what the helper reports about a
// request whose time is over, even if that arrives a moment later.
func TestHelperSaysWhy(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]string{
		&remoteError{locks.ErrUnavailable, "context deadline exceeded"}:                                              "context deadline exceeded",
		&remoteError{nil, "the disk is full"}:                                                                        "context deadline exceeded: the disk is full",
		&locks.Error{Op: "renew", Err: &remoteError{nil, "context deadline exceeded (TLS: unknown CA)"}, Hint: "do"}: "context deadline exceeded (TLS: unknown CA)",
	} {
		l, ctx := new(Lock), within(t, 20*time.Millisecond)
		l.at.Store(newSession("fake", locks.Error{Backend: "fake://h"}, answerer{func() {
			context.AfterFunc(ctx, func() {
				s := l.last()
				s.mu.Lock()
				defer s.mu.Unlock()
				s.pending[1].err = cause
				close(s.pending[1].done)
			})
		}}))
		err := l.Renew(ctx)
		checkClass(t, "renew", err, context.DeadlineExceeded)
		if got := err.Error(); got != "renew on fake://h: "+want || locks.Hint(err) != locks.Hint(cause) {
			t.Errorf("got %q (%s), want %q", got, locks.Hint(err), want)
		}
	}
}

// A late context ends a moment after its deadline.
type late struct {
	context.Context
	deadline time.Time
}

func newLate(t *testing.T) late {
	now := time.Now()
	ctx, cancel := context.WithDeadline(t.Context(), now.Add(20*time.Millisecond))
	t.Cleanup(cancel)
	return late{ctx, now}
}

func (l late) Deadline() (time.Time, bool) { return l.deadline, true }

// TestLongLine checks that a line that is too long is not written.
func TestLongLine(t *testing.T) {
	t.Parallel()
	var wrote counter
	var err error
	out := lines{w: &wrote, broken: func(e error) { err = e }}
	out.write(request{Text: strings.Repeat("x", maxLine)})
	if wrote > 0 || !errors.Is(err, errLineTooLong) {
		t.Errorf("wrote %d bytes, %v", wrote, err)
	}
}

// TestForm checks that lines look as in the package documentation, because helpers in
// shell pick them apart with patterns.
func TestForm(t *testing.T) {
	t.Parallel()
	o := locks.Options{Name: "jobs/nightly", Holder: "host/123/x7", TTL: 15 * time.Second, ConnectTimeout: 5 * time.Second, Version: "v1.2.0", RunID: "5e0f31c2a97b4d68"}
	held := &locks.HeldError{Status: locks.Status{Held: true, Holder: "web-1"}}
	for want, v := range map[string]any{
		`{"id":1,"method":"open","timeout_ns":5000000000,"protocol":1,"url":"etcd://user:password@host:2379/prefix","name":"jobs/nightly","holder":"host/123/x7","ttl_ns":15000000000,"connect_timeout_ns":5000000000,"version":"v1.2.0","run_id":"5e0f31c2a97b4d68","log_level":"warn"}`: func() request {
			r := openRequest("etcd://user:password@host:2379/prefix", o, "warn")
			r.ID = []byte("1")
			return r
		}(),
		`{"id":2,"method":"acquire"}`:                                                                         request{ID: []byte("2"), Method: methodAcquire},
		`{"id":2,"method":"acquire","try":true}`:                                                              request{ID: []byte("2"), Method: methodAcquire, Try: true},
		`{"id":2,"method":"cancel"}`:                                                                          request{ID: []byte("2"), Method: methodCancel},
		`{"event":"hello","protocol":[1],"scheme":"etcd","version":"v1.2.0"}`:                                 message{Event: eventHello, Protocol: []int{protocol}, Scheme: "etcd", Version: "v1.2.0"},
		`{"id":2,"result":{"token":7,"ttl_ns":15000000000,"clean":true}}`:                                     message{ID: []byte("2"), Result: &result{Token: 7, TTL: 15 * time.Second, Clean: true}},
		`{"id":2,"error":{"class":"held","message":"held by web-1","status":{"held":true,"holder":"web-1"}}}`: message{ID: []byte("2"), Error: toWire(held, func(s string) string { return s })},
		`{"event":"waiting","id":2,"waiting":{"status":{"held":true,"holder":"web-1"},"lease_ns":15000000000,"position":1}}`: message{
			ID: []byte("2"), Event: eventWaiting, Waiting: &locks.Waiting{Status: held.Status, Lease: 15 * time.Second, Position: 1}},
		`{"id":2,"method":"list","cursor":"x"}`: request{ID: []byte("2"), Method: methodList, Cursor: "x"},
		`{"id":2,"method":"watch","all":true}`:  request{ID: []byte("2"), Method: methodWatch, All: true},
		`{"event":"changed","id":2}`:            message{ID: []byte("2"), Event: eventChanged},
		`{"event":"listed","id":2,"page":[{"name":"jobs","status":{"held":true},"record":"text"}]}`: func() message {
			text := "text"
			return message{ID: []byte("2"), Event: eventListed, Page: []listed{{"jobs", locks.Status{Held: true}, &text}}}
		}(),
		`{"event":"lost","error":{"class":"lost","message":"the key was deleted"}}`: message{Event: eventLost, Error: &wireError{Class: "lost", Message: "the key was deleted"}},
	} {
		var got strings.Builder
		if (&lines{w: &got}).write(v); got.String() != want+"\n" {
			t.Errorf("got  %s\nwant %s", got.String(), want)
		}
	}
}
