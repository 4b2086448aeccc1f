package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/program/version"
)

// TestAbilities checks that the abilities that the helper declares, and that we know,
// cross the pipe.
func TestAbilities(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/?can=record&can=fly&can=ask", options())
	got, err := l.Abilities(t.Context())
	if want := []locks.Ability{locks.CanRecord, locks.CanAsk}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	checkClass(t, "an ability that it has", locks.Require(t.Context(), l, "x", locks.CanAsk, locks.CanRecord), nil)
	checkClass(t, "an ability that it lacks", locks.Require(t.Context(), l, "x", locks.CanInspect), locks.ErrUsage)
}

// TestAbilitiesOfNone checks that a helper that knows of no abilities has none, and that
// one that cannot open says why.
func TestAbilitiesOfNone(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/", options())
	if got, err := l.Abilities(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
	l = start(t, "fake://h/?open=denied", options())
	_, err := l.Abilities(t.Context())
	checkClass(t, "abilities of a lock that cannot be opened", err, locks.ErrDenied)

	ctx := within(t, 50*time.Millisecond)
	_, err = start(t, "fake://h/?open=hang", options()).Abilities(ctx)
	checkClass(t, "abilities without an answer", err, context.DeadlineExceeded)
}

// TestVersion checks that the version comes from hello, even of a helper that cannot open
// the lock.
func TestVersion(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"fake://h/", "fake://h/?open=denied"} {
		if got, err := start(t, url, options()).Version(t.Context()); err != nil || got != version.Number() {
			t.Errorf("%s: got %q, %v; want %q", url, got, err, version.Number())
		}
	}
	ctx := within(t, 50*time.Millisecond)
	_, err := start(t, "fake://h/?open=hang", options()).Version(ctx)
	checkClass(t, "version without an answer", err, context.DeadlineExceeded)
}

// TestVersionIsNotTrusted also checks that there is no version without a hello.
func TestVersionIsNotTrusted(t *testing.T) {
	t.Parallel()
	s := newSession("fake", locks.Error{}, closer{io.Discard})
	if v, err := s.greeting(); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("before hello: got %q, %v; want ErrUnavailable", v, err)
	}
	hello := message{Event: eventHello, Protocol: []int{protocol}, Scheme: "fake", Version: "v1\x1b[2J" + strings.Repeat("x", 1000)}
	if err := s.take(&hello); err != nil {
		t.Fatal(err)
	}
	v, err := s.greeting()
	if err != nil || !strings.HasPrefix(v, "v1 [2Jx") || len(v) > maxVersion {
		t.Errorf("got %q, %v", v, err)
	}
}

// TestLongQueueFitsALine checks that the last places of a long queue are left out.
func TestLongQueueFitsALine(t *testing.T) {
	t.Parallel()
	l := start(t, "fake://h/?can=inspect&queue=1000", options())
	st, err := l.Inspect(t.Context())
	if err != nil || len(st.Queue) < 10 || len(st.Queue) > locks.MaxQueue || !st.Held {
		t.Fatalf("got %d places, %v", len(st.Queue), err)
	}
	if st.PID != 0 || st.TTL != 0 || st.Confirm != 0 || st.Waiters != 0 || st.Start != "" || len(st.Advertise) > locks.MaxAdvertise {
		t.Errorf("invalid data was passed on: %+v", st.Status)
	}
	if len(st.Details) == 0 || len(st.Details) > locks.MaxDetails || len(st.Details[0]) > 256 {
		t.Errorf("got %d details", len(st.Details))
	}
	for _, p := range st.Queue {
		if p.Priority != -locks.MaxPriority || !p.Since.IsZero() || p.Holder == "" {
			t.Errorf("got %+v", p)
		}
	}
}

// TestRecordThatIsNone checks that an invalid stored record is text that is not JSON, in a list as
// well, and that the session continues.
func TestRecordThatIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xff", "{\"by\":\"\xff\"}", "{}" + strings.Repeat(" ", locks.MaxRecord)} {
		l := start(t, able("fake://h/?locks=1&text="+url.QueryEscape(text)), options())
		got, err := l.Record(t.Context())
		page, _, err2 := l.List(t.Context(), "")
		if err != nil || err2 != nil || len(got) == 0 || len(got) > locks.MaxRecord || json.Valid(got) || string(page[0].Record) != string(got) {
			t.Errorf("%.12s: got %.20q (%d bytes), %v; in the list: %.99v, %v", text, got, len(got), err, page, err2)
		}
		if _, err := l.Acquire(t.Context(), true); err != nil {
			t.Errorf("acquire: %v", err)
		}
	}
}

// TestLastAsked checks that the last of several requests to the holder is kept.
func TestLastAsked(t *testing.T) {
	t.Parallel()
	s := newSession("fake", locks.Error{}, closer{io.Discard})
	s.grant = &locks.Grant{Token: 1}
	for _, text := range []string{"first", "last"} {
		if err := s.takeAsked(&message{Text: &text}); err != nil {
			t.Fatal(err)
		}
	}
	if got := drive.Within(t, limit, s.asked); string(got) != "last" {
		t.Errorf("asked %q", got)
	}
}

// TestNoEventAfterRelease checks that events about a released term are not passed on.
func TestNoEventAfterRelease(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	s := newServer("fake", openFake, &said, io.Discard)
	s.endTerm() // of nothing
	s.granted.Store(true)
	s.passOn([]byte("in time"))
	s.endTerm()
	s.passOn([]byte("too late"))
	if got, want := said.String(), `{"event":"asked","text":"in time"}`+"\n"; got != want {
		t.Errorf("said %q; want %q", got, want)
	}
}

// TestBreakAndForget checks that the calls and their answers cross the pipe.
func TestBreakAndForget(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/notes"
	l := start(t, able("fake://h"+path), options())
	checkClass(t, "break", l.Break(t.Context(), 1<<64-1), nil)
	checkClass(t, "forget", l.Forget(t.Context()), nil)
	checkAsked(t, path, "open\nbreak 18446744073709551615\nbreak\nforget\n")
	l = start(t, able("fake://h/?break=lost&forget=held"), options())
	checkClass(t, "break", l.Break(t.Context(), 7), locks.ErrLost)
	err := l.Forget(t.Context())
	if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.PID != 7 {
		t.Errorf("forget of a held lock: got %v", err)
	}
	checkNotLost(t, l) // the loss is another holder's
}

// TestPriorityAndNoResign checks that both reach the backend.
func TestPriorityAndNoResign(t *testing.T) {
	t.Parallel()
	o := options()
	o.Priority, o.NoResign = -7, true
	r := openRequest("fake:", o, "warn")
	_, got, err := newServer("fake", openFake, io.Discard, io.Discard).options(&r)
	if err != nil || got.Priority != -7 || !got.NoResign {
		t.Errorf("got %+v, %v", got, err)
	}
	(&lines{w: io.Discard}).write(r) // or it panics
}

// TestLongProbe checks that of too many servers with too long texts, as much is returned
// as fits into a line, and nothing invalid.
func TestLongProbe(t *testing.T) {
	t.Parallel()
	got, err := start(t, able("fake://h/?servers=1000"), options()).Probe(t.Context())
	if err != nil || len(got.Servers) != locks.MaxServers || len(got.Findings) != locks.MaxFindings {
		t.Fatalf("got %d servers, %d findings, %v", len(got.Servers), len(got.Findings), err)
	}
	last := got.Servers[locks.MaxServers-1]
	if last.Address == "" || last.Class != "" || last.RTT != 0 || !last.Time.IsZero() || last.Ours.IsZero() {
		t.Errorf("got %+v", last)
	}
	if f := got.Findings[locks.MaxFindings-1]; f.Level != "warning" || f.Text == "" {
		t.Errorf("got %+v", f)
	}
}

// TestProbeIsClean checks that texts of servers become one line without control
// characters and without the password.
func TestProbeIsClean(t *testing.T) {
	t.Parallel()
	got, err := start(t, able("fake://u:swordfish@h/?servers=1&text=%1b[2J+swordfish%0a"), options()).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, f := got.Servers[1], got.Findings[1]
	for _, text := range []string{got.User, s.Address, s.Error, s.Version, s.Role, s.TLS, f.Check, f.Text, f.Fix} {
		if text == "" || strings.ContainsAny(text, "\x1b\n") || strings.Contains(text, "swordfish") {
			t.Errorf("a text is shown as %q", text)
		}
	}
}

// TestLongList checks that the records of a page are complete although no two of them fit
// into one line.
func TestLongList(t *testing.T) {
	t.Parallel()
	cursor := strings.Repeat("\x03", locks.MaxCursor)
	l := start(t, able("fake://h/?locks=64&next="+strings.Repeat("%03", locks.MaxCursor)), options())
	page, next, err := l.List(t.Context(), cursor)
	if err != nil || next != cursor || len(page) != locks.MaxList {
		t.Fatalf("got %d locks, a cursor of %d bytes, %v", len(page), len(next), err)
	}
	for i, one := range page {
		if one.Name != fmt.Sprintf("lock%d", i) || string(one.Record) != strings.Repeat("\x02", locks.MaxRecord) {
			t.Errorf("place %d has %q with a record of %d bytes", i, one.Name, len(one.Record))
		}
		if st := one.Status; !st.Held || len(st.Holder) != maxText || st.PID != 0 || st.Start != "" || !st.Since.IsZero() {
			t.Errorf("%s has the status %.100v", one.Name, st)
		}
	}
}

// TestListHostile checks that a list leaves out what is not a lock, that an invalid
// record becomes valid text, and that neither keeps the others from being listed.
func TestListHostile(t *testing.T) {
	t.Parallel()
	l := start(t, able("fake://h/?locks=2&suffix=%00/../x"), options())
	page, _, err := l.List(t.Context(), "")
	if err != nil || len(page) != 1 || page[0].Name != "lock1" {
		t.Errorf("with an invalid name: got %d locks, %v", len(page), err)
	}
	for text, want := range map[string]string{"a%ff%feb": "a?b?", strings.Repeat("y", locks.MaxRecord+1): strings.Repeat("y", locks.MaxRecord-1) + "?"} {
		l = start(t, able("fake://h/?locks=2&text="+text), options())
		page, _, err = l.List(t.Context(), "")
		if err != nil || len(page) != 2 || string(page[0].Record) != want {
			t.Errorf("with the record %.10q: got %d locks, %v", text, len(page), err)
		}
	}
}

// TestListThatIsNone checks that a list that breaks the contract is an error, and that
// the session continues.
func TestListThatIsNone(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"locks=65":           "a page of 65 locks",
		"locks=1&next=%ff":   "cursor of the next page is invalid",
		"locks=1&list=lost":  "because",
		"locks=1&list=plain": "unclassed",
		"locks=1&next=" + strings.Repeat("x", locks.MaxCursor+1): "cursor of the next page is invalid",
	} {
		l := start(t, able("fake://h/?"+query), options())
		if page, _, err := l.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: got %d locks, %v; want an error with %q", query, len(page), err, want)
		}
		if _, err := l.Acquire(t.Context(), true); err != nil {
			t.Errorf("%.20s: acquire: %v", query, err)
		}
	}
	l := start(t, able("fake://h/"), options())
	for _, cursor := range []string{"\xff", strings.Repeat("x", locks.MaxCursor+1)} {
		_, _, err := l.List(t.Context(), cursor)
		checkClass(t, "list", err, locks.ErrUsage)
	}
}
