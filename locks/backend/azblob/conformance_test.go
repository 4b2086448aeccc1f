package azblob_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

func TestConformance(t *testing.T) { lockstest.Run(t, newStore(t).config(azblob.Open)) }

// TestSlots uses slots that have been used before. The first use of each takes a second, so
// of several runs that try at once, the last would give up.
func TestSlots(t *testing.T) {
	c := newStore(t).config(azblob.Open)
	fresh := c.URL
	c.URL = func(t testing.TB) *url.URL {
		u := fresh(t)
		s := client(t, u)
		var wg sync.WaitGroup
		for n := range 6 {
			name := lockName
			if n > 0 {
				name = locks.SlotName(lockName, n)
			}
			wg.Go(func() {
				if _, err := s.Swap(t.Context(), caslease.Key{Name: name}, caslease.Cell{}, caslease.Value{State: `{"state":"free","nonce":"before","ttl_ms":15000}`}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		_ = s.Close()
		return u
	}
	lockstest.RunSlots(t, c)
}

// A store is one emulator. All tests of a suite share it, each with its own prefix and
// proxies.
type store struct {
	*azblobtest.Server
	proxies faultproxy.Set
	tests   atomic.Int64
}

func newStore(t *testing.T) *store { return &store{Server: azblobtest.Start(t)} }

func (s *store) config(open locks.Opener) lockstest.Config {
	at := func(t testing.TB, prefix string) *url.URL {
		return azblobtest.URL(s.proxies.New(t, s.Addr()), prefix)
	}
	return lockstest.Config{
		Open: open,
		URL:  func(t testing.TB) *url.URL { return at(t, fmt.Sprintf("test %d", s.tests.Add(1))) },
		Twin: func(t testing.TB, u *url.URL) *url.URL { return at(t, prefixOf(u)) },
		TTL:  15 * time.Second, MaxTTL: time.Minute, SlowNames: true, Recipe: true, Polling: 3 * time.Second, Unwatched: true, HTTP: true,
		Abilities: known.Azblob.Abilities, AskDelay: 5 * time.Second, ReportsStart: true, Adopts: true,
		Cut: func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return s.proxies.Cut(hostOf(u), how) },
		Evict: func(t testing.TB, u *url.URL, name string) {
			s.breakLease(t, blobOf(u, name))
			s.try(t, func(ctx context.Context) error {
				_, err := s.NewBlobClient(blobOf(u, name)).Delete(ctx, nil)
				return err
			})
		},
		Crash:          func(t testing.TB, u *url.URL, name string, _ locks.Lock) { s.breakLease(t, blobOf(u, name)) },
		Restart:        func(testing.TB, *url.URL) { s.Stop(); s.Start() },
		Hostile:        s.hostile("", "leaderrun"),
		Foreign:        []func(testing.TB, *url.URL, string) func() string{s.theirs},
		HostileRecords: s.hostile("", "leaderrunrecord"),
		HostileAsks:    s.hostile("~ask", "leaderrunask"),
		HostileEntries: s.foreign(),
		Connections:    func(_ testing.TB, u *url.URL) int { return s.proxies.Find(hostOf(u)).Open() },
		Kept: func(t testing.TB, u *url.URL) []string {
			return s.blobs(t, u, func(*container.BlobItem) bool { return true })
		},
		Leftovers: func(t testing.TB, u *url.URL) []string {
			return s.blobs(t, u, func(b *container.BlobItem) bool { return *b.Properties.LeaseStatus == lease.StatusTypeLocked })
		},
	}
}

func prefixOf(u *url.URL) string { return strings.TrimPrefix(u.Path, "/"+azblobtest.Container+"/") }

// hostOf returns the address of the proxy in a URL.
func hostOf(u *url.URL) string {
	return strings.TrimSuffix(strings.TrimPrefix(u.Query().Get("endpoint"), "http://"), "/"+azblobtest.Account)
}

func blobOf(u *url.URL, name string) string { return prefixOf(u) + "/" + locks.EscapeName(name) }

// try makes one request of an operator.
func (s *store) try(t testing.TB, request func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := request(ctx); err != nil {
		t.Fatal(err)
	}
}

// breakLease does what az storage blob lease break does.
func (s *store) breakLease(t testing.TB, name string) {
	t.Helper()
	c, err := lease.NewBlobClient(s.NewBlobClient(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	var now int32
	s.try(t, func(ctx context.Context) error {
		_, err := c.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: &now})
		if bloberror.HasCode(err, bloberror.LeaseNotPresentWithLeaseOperation) {
			return nil
		}
		return err
	})
}

// blobs describes some blobs of a test.
func (s *store) blobs(t testing.TB, u *url.URL, which func(*container.BlobItem) bool) (all []string) {
	t.Helper()
	prefix := prefixOf(u) + "/"
	s.try(t, func(ctx context.Context) error {
		p, err := s.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix}).NextPage(ctx)
		if err != nil {
			return err
		}
		for _, b := range p.Segment.BlobItems {
			if which(b) {
				all = append(all, *b.Name)
			}
		}
		return nil
	})
	return all
}

// overwrite sets one key of a blob's metadata, and keeps the others. It makes the blob if
// there is none, and uses the lease of a lock that is held.
func (s *store) overwrite(t testing.TB, name, key, value string) {
	t.Helper()
	b := s.NewBlockBlobClient(name)
	s.try(t, func(ctx context.Context) error {
		r, err := b.GetProperties(ctx, nil)
		if err != nil {
			_, err := b.Upload(ctx, streaming.NopCloser(strings.NewReader("")), &blockblob.UploadOptions{Metadata: map[string]*string{key: &value}})
			return err
		}
		metadata, o := map[string]*string{}, &blob.SetMetadataOptions{}
		for k, v := range r.Metadata {
			metadata[strings.ToLower(k)] = v
		}
		if *r.LeaseStatus == lease.StatusTypeLocked {
			id := azblob.LeaseOfState(*metadata["leaderrun"])
			o.AccessConditions = &blob.AccessConditions{LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: &id}}
		}
		metadata[key] = &value
		_, err = b.SetMetadata(ctx, metadata, o)
		return err
	})
}

// hostile returns functions that overwrite a key of one of a lock's blobs.
func (s *store) hostile(suffix, key string) (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{
		"?", "null", "ascii85:", "ascii85:~", "ascii85:s8W-!", `{"state":1,"ttl_ms":"x","nonce":{}}`,
		`{"state":"held","nonce":"\u001b[2J\u0000","ttl_ms":0}`,
		`{"state":"held","nonce":"n","ttl_ms":1000000000000,"holder":"\n"}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"token":18446744073709551615}`,
		`{"token":-1,"nonce":{}}`, strings.Repeat(`{"a":`, 1400),
	} {
		all = append(all, func(t testing.TB, u *url.URL, name string) { s.overwrite(t, blobOf(u, name)+suffix, key, value) })
	}
	return all
}

// theirs makes a blob of another program where the lock's would be.
func (s *store) theirs(t testing.TB, u *url.URL, name string) (now func() string) {
	b := s.NewBlockBlobClient(blobOf(u, name))
	s.try(t, func(ctx context.Context) error {
		_, err := b.Upload(ctx, streaming.NopCloser(strings.NewReader("theirs")), nil)
		return err
	})
	return func() (is string) {
		s.try(t, func(ctx context.Context) error {
			r, err := b.GetProperties(ctx, nil)
			if err == nil {
				is = fmt.Sprint(*r.ETag, *r.LeaseState, *r.ContentLength)
			}
			return err
		})
		return is
	}
}

// foreign returns functions that make blobs under the prefix that are not locks.
func (s *store) foreign() (all []func(testing.TB, *url.URL)) {
	for name, value := range map[string]string{"a b": "x", "%2": "?", "%61": "x", "a%2fb": "?", "deeper/x": "x", "x~ask": "?", "foreign": strings.Repeat("x", 7000)} {
		all = append(all, func(t testing.TB, u *url.URL) { s.overwrite(t, prefixOf(u)+"/"+name, "leaderrun", value) })
	}
	return all
}
