package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

const (
	// stateKey, textKey and askKey are the keys of an object's custom metadata that
	// have what a cell has: what is in one value is changed as one.
	stateKey = "leaderrun"
	textKey  = "leaderrun-record"
	askKey   = "leaderrun-ask"
	// askSuffix makes the name of the object with a request from the lock's. No object
	// of a lock ends with it, under whatever prefix: "~" is in no lock's name, and
	// [locks.EscapeName] leaves none of "/".
	askSuffix = "~ask"
	// maxListing is the most that is read of a page. An object has up to 8 KiB of
	// metadata, of which some bytes become six in JSON.
	maxListing = locks.MaxList * 64 << 10
)

// object is the name of the object that is a cell.
func (s *settings) object(k caslease.Key) string {
	name := s.prefix + "/" + locks.EscapeName(k.Name)
	if k.Part == caslease.Request {
		name += askSuffix
	}
	return name
}

// A store speaks with the service. It makes one HTTP request for each call, and
// retries nothing: a retry of the SDK's own could make a write succeed twice, or hide
// that the first attempt's fate is unknown.
type store struct {
	*settings
	name      string        // of the lock whose handle this is, for Probe
	patience  time.Duration // for all that Probe asks beside
	transport *http.Transport

	once  sync.Once
	ready chan struct{} // closed when what follows is set
	sdk   *storage.Client
	creds *auth.Credentials // nil: none are sent
	err   error
}

func newStore(s *settings, o locks.Options) *store {
	return &store{settings: s, name: o.Name, patience: o.ConnectTimeout, transport: newTransport(o.ConnectTimeout), ready: make(chan struct{})}
}

// open returns a handle for requests. The first call looks for credentials, which
// may mean to ask the metadata server of the machine; ctx bounds the wait for that.
func (s *store) open(ctx context.Context) (*storage.BucketHandle, error) {
	s.once.Do(func() {
		go func() {
			defer close(s.ready)
			s.sdk, s.err = s.dial(context.WithoutCancel(ctx))
		}()
	})
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, &searchError{ctx.Err()}
	}
	if s.err != nil {
		return nil, s.err
	}
	b := s.sdk.Bucket(s.bucket)
	if s.userProject != "" {
		b = b.UserProject(s.userProject)
	}
	return b.Retryer(storage.WithPolicy(storage.RetryNever)), nil
}

// dial makes the SDK's client; it does not connect.
func (s *store) dial(ctx context.Context) (*storage.Client, error) {
	login := option.WithoutAuthentication()
	hc := &http.Client{Transport: recorder{s.transport}}
	if !s.anonymous() {
		creds, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{storage.ScopeFullControl}})
		if err != nil {
			return nil, &credentialsError{err}
		}
		hc, err = httptransport.NewClient(&httptransport.Options{Credentials: creds, BaseRoundTripper: recorder{s.transport}, DisableTelemetry: true})
		if err != nil {
			return nil, &credentialsError{err}
		}
		login, s.creds = option.WithAuthCredentials(creds), creds
	}
	opts := []option.ClientOption{login, option.WithHTTPClient(hc), storage.WithDisabledClientMetrics()}
	if s.endpoint != "" {
		opts = append(opts, option.WithEndpoint(s.endpoint+"/storage/v1/"))
	}
	return storage.NewClient(ctx, opts...)
}

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	c, _, err := s.look(ctx, k)
	return c, err
}

// look reads, and returns beside what the SDK does not pass on.
func (s *store) look(ctx context.Context, k caslease.Key) (caslease.Cell, *reply, error) {
	c, note, err := s.call(ctx, k, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
		attrs, err := o.Attrs(ctx)
		if errors.Is(err, storage.ErrObjectNotExist) && missing(err) && !bucketMissing(err) {
			return nil, nil
		}
		return attrs, err
	})
	if errors.Is(err, errLarge) {
		return caslease.Cell{Version: "?", Foreign: errLarge.Error()}, note, nil
	}
	return c, note, err
}

// Swap implements [caslease.Store] by a change of metadata, or by making the object.
// The service keeps the other keys.
func (s *store) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	metadata := map[string]string{}
	if to.State != "" {
		metadata[mark(k.Part)] = to.State
	}
	if to.Record != nil {
		metadata[textKey] = caslease.EncodeText(to.Record)
	}
	c, _, err := s.call(ctx, k, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
		if at.Version == "" {
			return create(ctx, o, metadata)
		}
		return o.If(conditions(at.Version)).Update(ctx, storage.ObjectAttrsToUpdate{Metadata: metadata})
	})
	if to.Record != nil && status(err) == http.StatusBadRequest {
		err = &roomError{err}
	}
	return c, err
}

// create makes the object, if there is none: ifGenerationMatch=0.
func create(ctx context.Context, o *storage.ObjectHandle, metadata map[string]string) (*storage.ObjectAttrs, error) {
	w := o.If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
	w.ChunkSize = 0 // one request
	w.Metadata = metadata
	w.ContentType = "application/octet-stream"
	w.CacheControl = "no-store"
	w.StorageClass = storageClass
	if _, err := io.WriteString(w, ""); err != nil {
		return nil, err
	}
	err := w.Close()
	if missing(err) {
		return nil, &bucketError{err}
	}
	if err != nil {
		return nil, err
	}
	return w.Attrs(), nil
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, k caslease.Key, at caslease.Cell) error {
	_, _, err := s.call(ctx, k, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
		return nil, o.If(conditions(at.Version)).Delete(ctx)
	})
	return err
}

// List implements [caslease.Lister]. What has a slash after the prefix is passed over
// by the service.
func (s *store) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	b, err := s.open(ctx)
	if err != nil {
		return nil, "", err
	}
	ctx, note := noting(ctx)
	note.limit = maxListing
	prefix := s.prefix + "/"
	it := b.Objects(ctx, &storage.Query{Prefix: prefix, Delimiter: "/", Projection: storage.ProjectionNoACL})
	it.PageInfo().MaxSize, it.PageInfo().Token = locks.MaxList, cursor
	for {
		a, err := it.Next()
		if err != nil && !errors.Is(err, iterator.Done) {
			return nil, "", err
		}
		if err == nil && a.Prefix == "" {
			if name, ok := nameOf(strings.TrimPrefix(a.Name, prefix)); ok {
				page = append(page, caslease.ListedCell{Name: name, Cell: cell(caslease.Lease, a, note)})
			}
		}
		if err == nil && it.PageInfo().Remaining() > 0 { // to ask for another would be another request
			continue
		}
		if next = it.PageInfo().Token; locks.CheckCursor(next) != nil { // it has the name of an object
			return nil, "", locks.Usagef("the prefix of the objects is too long to list them")
		}
		return page, next, nil
	}
}

// nameOf is the name of the lock whose object has this one, after the prefix.
func nameOf(object string) (string, bool) {
	name, err := url.PathUnescape(object)
	return name, err == nil && locks.EscapeName(name) == object
}

// call makes one request about an object, and notes what its answer says.
func (s *store) call(ctx context.Context, k caslease.Key, f func(context.Context, *storage.ObjectHandle) (*storage.ObjectAttrs, error)) (caslease.Cell, *reply, error) {
	b, err := s.open(ctx)
	if err != nil {
		return caslease.Cell{}, nil, err
	}
	ctx, note := noting(ctx)
	note.sent = time.Now()
	a, err := f(ctx, b.Object(s.object(k)))
	note.took = time.Since(note.sent)
	if err != nil || a == nil {
		return caslease.Cell{}, note, err
	}
	if a.Generation <= 0 || a.Metageneration <= 0 || a.Created.IsZero() || a.Updated.IsZero() {
		return caslease.Cell{}, note, errors.New("the answer lacks the object's generation, metageneration or times")
	}
	return cell(k.Part, a, note), note, nil
}

// cell is what an answer says of an object.
//
// Created, in microseconds, is where its tokens start, so that they go on rising when
// somebody has deleted the one before. (Generation numbers would do as well, but the
// service expressly does not promise that they rise.) Each write adds one to the
// metageneration, and so to the floor.
func cell(p caslease.Part, a *storage.ObjectAttrs, note *reply) caslease.Cell {
	start := uint64(max(a.Created.UnixMicro(), 0))
	c := caslease.Cell{
		Version: fmt.Sprintf("%d/%d", a.Generation, a.Metageneration), State: a.Metadata[mark(p)],
		First: start + 1, Floor: start + uint64(max(a.Metageneration, 1)),
		Updated: a.Updated, Date: note.date,
	}
	if _, ok := a.Metadata[mark(p)]; ok && c.State == "" {
		c.State = " " // one of somebody else's
	}
	if value, ok := a.Metadata[textKey]; ok {
		c.Record, ok = caslease.DecodeText(value)
		c.BadRecord = !ok
	}
	return c
}

// mark is the key that has the state of a cell.
func mark(p caslease.Part) string {
	if p == caslease.Request {
		return askKey
	}
	return stateKey
}

// conditions are that an object has a version.
func conditions(version string) (c storage.Conditions) {
	_, _ = fmt.Sscanf(version, "%d/%d", &c.GenerationMatch, &c.MetagenerationMatch) // cell wrote it; if not, the SDK refuses none at all
	return c
}

// follows reports whether a version of an object can follow on another.
func follows(since, version string) bool {
	before, after := conditions(since), conditions(version)
	return after.GenerationMatch != before.GenerationMatch || after.MetagenerationMatch > before.MetagenerationMatch
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
