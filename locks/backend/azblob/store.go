package azblob

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/silence"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

const (
	// newborn is how long after a blob was made it can be taken: its first token is the
	// beginning of the next second. It includes the difference of two clocks.
	newborn = 1010 * time.Millisecond
	// taking is enough for the two requests that take a lock.
	taking = 500 * time.Millisecond
)

// A store sends requests to the service, without retries. Most calls are one request. To
// take or to give up a lock takes two, and to create it three; lease.go says what happens
// if one of them fails.
type store struct {
	settings  *settings
	name      string        // of the lock whose handle this is, for Probe
	patience  time.Duration // how long Probe may take for the container's settings
	transport *http.Transport
	container *container.Client

	mu     sync.Mutex
	seen   map[caslease.Key]*blobView // the last view of a blob
	doubts map[string]azcore.ETag     // see settle
}

func newStore(s *settings, o locks.Options) (*store, error) {
	st := &store{
		settings: s, name: o.Name, patience: o.ConnectTimeout, transport: newTransport(s.service, o.ConnectTimeout),
		seen: map[caslease.Key]*blobView{}, doubts: map[string]azcore.ETag{},
	}
	var err error
	st.container, err = newClient(s, silence.Transport{Transport: st.transport}, o.Logger)
	return st, err
}

func (s *store) blob(k caslease.Key) *blockblob.Client {
	return s.container.NewBlockBlobClient(s.settings.blob(k))
}

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	b, err := s.look(ctx, k)
	if err == nil && b != nil && b.leased && k.Part == caslease.Lease {
		b, err = s.settle(ctx, k, b)
	}
	if err != nil || b == nil {
		return caslease.Cell{}, err
	}
	return b.cell(k.Part), nil
}

// look makes the request, and returns nil if there is no such blob.
func (s *store) look(ctx context.Context, k caslease.Key) (*blobView, error) {
	r, err := s.blob(k).GetProperties(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := head{r.ETag, r.CreationTime, r.LastModified, r.LeaseStatus, r.LeaseDuration, r.Metadata}.view()
	if b.etag == "" {
		return nil, errors.New("the answer lacks the blob's ETag or times")
	}
	s.note(k, b)
	return b, nil
}

func (s *store) note(k caslease.Key, b *blobView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.seen = time.Now()
	if last := s.seen[k]; last != nil && last.etag == b.etag {
		b.seen = last.seen
	}
	s.seen[k] = b
}

// as returns the blob as it was when it had the version of a cell. A change of metadata
// replaces all of it, so the keys of others must be known.
func (s *store) as(ctx context.Context, k caslease.Key, at caslease.Cell) (*blobView, error) {
	s.mu.Lock()
	b := s.seen[k]
	s.mu.Unlock()
	if b != nil && string(b.etag) == at.Version {
		return b, nil
	}
	b, err := s.look(ctx, k)
	if err == nil && (b == nil || string(b.etag) != at.Version) {
		err = errChanged
	}
	return b, err
}

// Swap implements [caslease.Store].
func (s *store) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, next caslease.Value) (caslease.Cell, error) {
	b, err := s.base(ctx, k, at, next)
	if err != nil {
		return caslease.Cell{}, err
	}
	switch {
	case k.Part == caslease.Request && at.Version == "": // base has written it
	case k.Part == caslease.Request:
		b, err = s.write(ctx, k, b, next, "")
	default:
		return s.swapLease(ctx, k, b, at, next)
	}
	if err != nil {
		return caslease.Cell{}, err
	}
	return b.cell(k.Part), nil
}

// base returns the blob that is to be changed, and creates it if it does not exist.
func (s *store) base(ctx context.Context, k caslease.Key, at caslease.Cell, next caslease.Value) (b *blobView, err error) {
	if at.Version != "" {
		b, err = s.as(ctx, k, at)
	} else {
		b, err = s.create(ctx, k, next)
	}
	if err == nil && k.Part == caslease.Lease && (at.Version == "" || at.State == unclaimed) {
		err = grow(ctx, b)
	}
	return b, err
}

// grow waits until a blob can be taken. If ctx does not leave the time for that, it waits for
// a part of it, and the error makes the engine look again.
func grow(ctx context.Context, b *blobView) error {
	rest := newborn - time.Since(b.seen)
	end, ok := ctx.Deadline()
	if left := time.Until(end); ok && rest > 0 && left < rest+taking {
		return cmp.Or(backoff.Sleep(ctx, left/2), errChanged)
	}
	return backoff.Sleep(ctx, rest)
}

// create creates a blob, if it does not exist. That of a lock is unclaimed, because nobody can
// have a lease on it yet.
func (s *store) create(ctx context.Context, k caslease.Key, next caslease.Value) (*blobView, error) {
	b := &blobView{}
	if k.Part == caslease.Lease {
		next = caslease.Value{State: unclaimed}
	}
	o := &blockblob.UploadOptions{
		Metadata:         b.with(k.Part, next),
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
	}
	r, err := s.blob(k).Upload(ctx, streaming.NopCloser(strings.NewReader("")), o)
	if err != nil {
		return nil, err
	}
	b = head{ETag: r.ETag, CreationTime: r.LastModified, LastModified: r.LastModified, Metadata: o.Metadata}.view()
	s.note(k, b)
	return b, nil
}

// write changes the metadata of a blob that is still as in a view, under a lease if the id
// is not "".
func (s *store) write(ctx context.Context, k caslease.Key, b *blobView, next caslease.Value, id string) (*blobView, error) {
	metadata := b.with(k.Part, next)
	r, err := s.blob(k).BlobClient().SetMetadata(ctx, metadata, &blob.SetMetadataOptions{AccessConditions: conditions(b.etag, id)})
	if err != nil {
		return nil, err
	}
	after := head{ETag: r.ETag, CreationTime: &b.created, LastModified: r.LastModified, Metadata: metadata}.view()
	after.leased = id != ""
	s.note(k, after)
	return after, nil
}

// conditions returns the conditions that a blob is as it was, and has our lease, if any.
func conditions(etag azcore.ETag, id string) *blob.AccessConditions {
	c := &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag}}
	if id != "" {
		c.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &id}
	}
	return c
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, k caslease.Key, at caslease.Cell) error {
	_, err := s.blob(k).Delete(ctx, &blob.DeleteOptions{
		DeleteSnapshots:  to.Ptr(blob.DeleteSnapshotsOptionTypeInclude),
		AccessConditions: conditions(azcore.ETag(at.Version), leaseOf(at)),
	})
	return err
}

// List implements [caslease.Lister]. The service skips blobs that have a slash after the
// prefix.
func (s *store) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	items, next, err := s.items(ctx, cursor)
	if err != nil {
		return nil, "", err
	}
	if locks.CheckCursor(next) != nil { // a cursor contains the name of a blob
		return nil, "", locks.Usagef("the prefix of the blobs is too long to list them")
	}
	prefix := s.settings.prefix + "/"
	for _, item := range items {
		p := item.Properties
		b := head{p.ETag, p.CreationTime, p.LastModified, p.LeaseStatus, p.LeaseDuration, item.Metadata}.view()
		if name, ok := nameOf(strings.TrimPrefix(*item.Name, prefix)); ok && b.etag != "" && !slices.Contains([]string{"", unclaimed}, b.metadata[stateKey]) {
			page = append(page, caslease.ListedCell{Name: name, Cell: b.cell(caslease.Lease)})
		}
	}
	return page, next, nil
}

// items returns a page of the blobs under the prefix.
func (s *store) items(ctx context.Context, cursor string) (all []*container.BlobItem, next string, err error) {
	prefix := s.settings.prefix + "/"
	r, err := s.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
		Prefix: &prefix, Marker: &cursor, MaxResults: to.Ptr(int32(locks.MaxList)), Include: container.ListBlobsInclude{Metadata: true},
	}).NextPage(ctx)
	if err != nil {
		return nil, "", err
	}
	if r.NextMarker != nil {
		next = *r.NextMarker
	}
	if r.Segment != nil {
		all = slices.DeleteFunc(r.Segment.BlobItems, func(b *container.BlobItem) bool { return b.Name == nil || b.Properties == nil })
	}
	return all, next, nil
}

// nameOf returns the name of the lock whose blob has this name, after the prefix. It
// reports false if no lock's blob can be called that.
func nameOf(object string) (string, bool) {
	name, err := url.PathUnescape(object)
	return name, err == nil && locks.EscapeName(name) == object
}

// Close implements [caslease.Store]. Requests under way end with their contexts.
func (s *store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

var (
	_ caslease.Lister = (*store)(nil)
	_ caslease.Prober = (*store)(nil)
)
