package azblob_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestOneServer runs tests that share an emulator, each with its own prefix, because to start
// one costs a second of processor time.
func TestOneServer(t *testing.T) {
	t.Parallel()
	server := azblobtest.Start(t)
	for name, test := range map[string]func(*testing.T, *site){
		"OtherPrograms":         testOtherPrograms,
		"OtherProgramTakesOver": testOtherProgramTakesOver,
		"NothingIsLeft":         testNothingIsLeft,
		"LateAcquire":           testLateAcquire,
		"LateAcquireAfterATerm": testLateAcquireAfterATerm,
		"Expiry":                testExpiry,
		"Tokens":                testTokens,
		"TokenInOldState":       testTokenInOldState,
		"MetadataOfOthers":      testMetadataOfOthers,
		"TokenInFile":           testTokenInFile,
		"Archived":              testArchived,
		"Replicated":            testReplicated,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &site{server, name})
		})
	}
}

// A site is a prefix on an emulator.
type site struct {
	*azblobtest.Server
	prefix string
}

// url returns the prefix as a leaderrun backend, at the address of the server or of a proxy.
func (s *site) url(addr string) *url.URL { return azblobtest.URL(addr, s.prefix) }

// blob returns the name of the lock's blob.
func (s *site) blob() string { return s.prefix + "/jobs%2Fnightly" }

// other is another program that takes leases on the lock's blob.
type other struct {
	t testing.TB
	*lease.BlobClient
}

func newOther(t testing.TB, s *site) *other {
	t.Helper()
	c, err := lease.NewBlobClient(s.NewBlobClient(s.blob()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &other{t, c}
}

func (o *other) takes(seconds int32) error {
	_, err := o.AcquireLease(o.t.Context(), seconds, nil)
	return err
}

// upload makes the lock's blob, with content and metadata.
func (s *site) upload(t testing.TB, metadata map[string]*string) {
	t.Helper()
	o := &blockblob.UploadOptions{Metadata: metadata}
	if _, err := s.NewBlockBlobClient(s.blob()).Upload(t.Context(), streaming.NopCloser(strings.NewReader("theirs")), o); err != nil {
		t.Fatal(err)
	}
}

// unclaimed is the metadata of a blob that leaderrun has made.
func unclaimed() map[string]*string {
	state := azblob.Unclaimed
	return map[string]*string{"leaderrun": &state}
}

// testOtherPrograms: whoever else takes a lease on a blob of ours excludes us, also without end,
// and we exclude them.
func testOtherPrograms(t *testing.T, s *site) {
	u, o := s.url(s.Addr()), newOther(t, s)
	s.upload(t, unclaimed())
	for _, seconds := range []int32{15, lease.BreakNaturally} { // -1: without end
		if err := o.takes(seconds); err != nil {
			t.Fatal(err)
		}
		l := open(t, u, options("a"))
		_, err := l.Acquire(drive.Context(t), true)
		held, ok := errors.AsType[*locks.HeldError](err)
		if want := map[bool]string{true: "an unnamed lease", false: "another program's lease without end"}[seconds > 0]; !ok || held.Status.Holder != want {
			t.Errorf("while another program has the lease: got %v; want held by %s", err, want)
		}
		if err := l.(locks.Forgetter).Forget(drive.Context(t)); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("forget: got %v; want ErrHeld", err)
		}
		// An operator ends it.
		if err := l.(locks.Breaker).Break(drive.Context(t), held.Status.Token); err != nil {
			t.Errorf("break: %v", err)
		}
		if _, err := o.RenewLease(t.Context(), nil); err == nil {
			t.Error("the other program renews a lease that was broken")
		}
		drive.Hold(t, l)
		if err := newOther(t, s).takes(15); err == nil {
			t.Error("another program takes a lease while we have the lock")
		}
		drive.Release(t, l)
		o = newOther(t, s)
	}
	if err := o.takes(15); err != nil {
		t.Errorf("after the release: %v", err)
	}
	_, wait := drive.Campaign(drive.Context(t), t, azblob.Open, u.String(), options("b"))
	if _, err := o.ReleaseLease(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if r := drive.Within(t, drive.Patience, wait); r.Err != nil {
		t.Error(r.Err)
	}
}

// testOtherProgramTakesOver: if somebody has broken our lease and another program has the
// next one, the next renewal and the next record find out, and a release changes nothing.
func testOtherProgramTakesOver(t *testing.T, s *site) {
	for name, use := range map[string]func(locks.Lock) error{
		"renew":  func(l locks.Lock) error { return l.Renew(drive.Context(t)) },
		"record": func(l locks.Lock) error { return l.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")) },
	} {
		l, o := open(t, s.url(s.Addr()), options("a")), newOther(t, s)
		drive.Hold(t, l)
		now := int32(0)
		if _, err := o.BreakLease(t.Context(), &lease.BlobBreakOptions{BreakPeriod: &now}); err != nil {
			t.Fatal(err)
		}
		if err := o.takes(15); err != nil {
			t.Fatal(err)
		}
		if err := use(l); !errors.Is(err, locks.ErrLost) {
			t.Errorf("%s: got %v; want ErrLost", name, err)
		}
		drive.Release(t, l)
		if _, err := o.ReleaseLease(t.Context(), nil); err != nil {
			t.Errorf("%s: the other program has lost its lease: %v", name, err)
		}
	}
}

// testNothingIsLeft: whichever answer of an Acquire or a Release is lost, no lease is left
// that nobody knows of.
func testNothingIsLeft(t *testing.T, s *site) {
	f := newFront(t, s.Addr())
	u := s.url(f.addr)
	drive.Release(t, held(t, open(t, u, options("first"))))
	for name, is := range map[string]func(*http.Request) bool{
		"acquire": comp("lease", "acquire"), "metadata": comp("metadata", ""), "release": comp("lease", "release"),
	} {
		for _, releases := range []bool{false, true} {
			if name == "acquire" && releases || name == "release" && !releases {
				continue
			}
			l := open(t, u, options("a"))
			if releases {
				drive.Hold(t, l)
			}
			f.next.Store(&fault{is: is})
			if !releases {
				drive.Hold(t, l)
				drive.Renew(t, l)
			}
			if f.next.Load() != nil && !releases {
				t.Errorf("%s: no such request was made", name)
			}
			drive.Release(t, l)
			if f.next.Load() != nil {
				t.Errorf("%s, %t: no such request was made", name, releases)
			}
			o := newOther(t, s)
			if err := o.takes(15); err != nil {
				t.Errorf("%s, %t: %v", name, releases, err)
			}
			_, _ = o.ReleaseLease(t.Context(), nil)
		}
	}
}

// testLateAcquire: a request for a lease that arrives long after it was given up, while
// another program had the blob, does not keep the lock from its waiter.
func testLateAcquire(t *testing.T, s *site) {
	drive.Release(t, held(t, open(t, s.url(s.Addr()), options("first"))))
	late := newLate(t, s.Addr(), comp("lease", "acquire"))
	ctx, cancel := context.WithTimeout(drive.Context(t), drive.Patience)
	defer cancel()
	o := options("a")
	o.ConnectTimeout = 2 * time.Second
	done := make(chan error, 1)
	l := open(t, s.url(late.addr), o)
	go func() { _, err := l.Acquire(ctx, false); done <- err }()
	drive.Within(t, drive.Patience, late.caught)
	rival := newOther(t, s) // before the campaign asks again
	if err := rival.takes(60); err != nil {
		t.Fatal(err)
	}
	drive.Within(t, drive.Patience, late.gaveUp)
	late.hold(comp("lease", "acquire")) // only a request that knows of the lease can help
	if _, err := rival.ReleaseLease(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	late.deliver()
	late.hold(nil)
	if err := drive.Within(t, drive.Patience, done); err != nil {
		t.Errorf("the waiter: %v", err)
	}
}

// testLateAcquireAfterATerm: a request for a lease that arrives after somebody else's term
// has no effect.
func testLateAcquireAfterATerm(t *testing.T, s *site) {
	direct := s.url(s.Addr())
	drive.Release(t, held(t, open(t, direct, options("first"))))
	late := newLate(t, s.Addr(), comp("lease", "acquire"))
	ctx, cancel := context.WithCancel(drive.Context(t))
	done := make(chan error, 1)
	l := open(t, s.url(late.addr), options("a"))
	go func() { _, err := l.Acquire(ctx, false); done <- err }()
	drive.Within(t, drive.Patience, late.caught)
	cancel()
	drive.Within(t, drive.Patience, done)
	drive.Within(t, drive.Patience, late.gaveUp)
	drive.Release(t, held(t, open(t, direct, options("b"))))
	late.deliver()
	drive.Hold(t, open(t, direct, options("c")))
}

func held(t testing.TB, l locks.Lock) locks.Lock { drive.Hold(t, l); return l }

// testExpiry: a lease of a holder that has vanished ends by itself, and not before the
// holder must have stopped; then it is never renewed, although the service would do so.
func testExpiry(t *testing.T, s *site) {
	o := options("a")
	o.TTL = 15 * time.Second
	u := s.url(s.Addr())
	l, _ := open(t, u, o), drive.Context(t)
	start := time.Now()
	drive.Hold(t, l)
	expired := func() bool {
		r, err := s.NewBlobClient(s.blob()).GetProperties(t.Context(), nil)
		return err == nil && *r.LeaseState == lease.StateTypeExpired
	}
	drive.Eventually(t, drive.Patience, "the lease ends", expired)
	if took := time.Since(start); took < 15*time.Second-10*time.Millisecond {
		t.Errorf("the lease has ended after %v", took)
	}
	if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) || !expired() {
		t.Errorf("renewed after the end: %v", err)
	}
}

// testTokens: tokens rise although the blob was deleted, or made again, in the second in which
// they were granted.
func testTokens(t *testing.T, s *site) {
	u, b := s.url(s.Addr()), s.NewBlockBlobClient(s.blob())
	last := uint64(0)
	for n, forget := range []func(){
		func() {},
		func() { _, _ = b.Delete(t.Context(), nil) },
		func() { s.upload(t, unclaimed()) },
	} {
		forget()
		for i := range 5 {
			l := open(t, u, options("a"))
			g := drive.Hold(t, l)
			if g.Token <= last || g.Clean != (i > 0) {
				t.Errorf("step %d.%d: granted %+v after token %d", n, i, g, last)
			}
			last = g.Token
			drive.Release(t, l)
		}
	}
}

// testTokenInOldState: a state that somebody writes by hand cannot set the token back.
func testTokenInOldState(t *testing.T, s *site) {
	u, b := s.url(s.Addr()), s.NewBlobClient(s.blob())
	drive.Release(t, held(t, open(t, u, options("a"))))
	old := `{"state":"free","nonce":"n","ttl_ms":15000,"token":1}`
	made := time.Time{}
	var changed time.Time
	drive.Eventually(t, drive.Patience, "two seconds have passed", func() bool {
		r, err := b.SetMetadata(t.Context(), map[string]*string{"leaderrun": &old}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if changed = *r.LastModified; made.IsZero() {
			made = changed
		}
		return changed.Sub(made) >= 2*time.Second // the first token of a blob is a second ahead
	})
	if g := drive.Hold(t, open(t, u, options("a"))); g.Token <= uint64(changed.UnixMicro()) {
		t.Errorf("token %d, though the blob was changed at %d", g.Token, changed.UnixMicro())
	}
}

// testMetadataOfOthers: changes of ours keep what others have changed beside it, and a
// record that cannot be read is not lost.
func testMetadataOfOthers(t *testing.T, s *site) {
	l := open(t, s.url(s.Addr()), options("a"))
	b, theirs, bad := s.NewBlockBlobClient(s.blob()), "x", "ascii85:~"
	metadata := unclaimed()
	metadata["theirs"], metadata["leaderrunrecord"] = &theirs, &bad
	s.upload(t, metadata)
	drive.Release(t, held(t, l))
	r, err := b.GetProperties(t.Context(), nil)
	if err != nil || r.Metadata["Theirs"] == nil || *r.ContentLength != 6 {
		t.Errorf("afterwards: %+v, %v", r.Metadata, err)
	}
	if got, err := l.(locks.Recorder).Record(drive.Context(t)); err == nil {
		t.Errorf("a record that cannot be read is %q", got)
	}
}
