package gcs

import (
	"bytes"
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
	"github.com/leaderrun/leaderrun/locks/kit/silence"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

const (
	// stateKey, recordKey and askKey are the keys of an object's custom metadata under
	// which a cell is kept. Each value changes as a whole.
	stateKey  = "leaderrun"
	recordKey = "leaderrun-record"
	askKey    = "leaderrun-ask"
	// askSuffix is appended to the name of a lock's object, for the object with a request.
	// No lock's own object ends with it, whatever the prefix: no name of a lock has a "~",
	// and [locks.EscapeName] escapes every "/".
	askSuffix = "~ask"
	// maxListing is the most that is read of a page, in bytes. An object has up to 8 KiB
	// of metadata, and some bytes become six in JSON.
	maxListing = locks.MaxList * 64 << 10
)

// object returns the name of the object that holds a cell.
func (s *settings) object(k caslease.Key) string {
	name := s.prefix + "/" + locks.EscapeName(k.Name)
	if k.Part == caslease.Request {
		name += askSuffix
	}
	return name
}

// A store sends requests to the service. Each call is one HTTP request, without
// retries: a retry by the SDK could make a write succeed twice, or hide that the fate of
// the first attempt is unknown.
type store struct {
	settings  *settings
	name      string        // of the lock whose handle this is, for Probe
	patience  time.Duration // how long Probe may take for the bucket's rules
	transport *http.Transport

	once  sync.Once
	ready chan struct{} // closed when the following fields are set
	sdk   *storage.Client
	creds *auth.Credentials // nil: requests are anonymous
	err   error
}

func newStore(s *settings, o locks.Options) *store {
	return &store{settings: s, name: o.Name, patience: o.ConnectTimeout, transport: newTransport(o.ConnectTimeout), ready: make(chan struct{})}
}

// open returns a handle for requests. The first call looks for credentials, and may have
// to ask the machine's metadata server; ctx bounds the wait for that.
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
	b := s.sdk.Bucket(s.settings.bucket)
	if s.settings.userProject != "" {
		b = b.UserProject(s.settings.userProject)
	}
	return b.Retryer(storage.WithPolicy(storage.RetryNever)), nil
}

// dial makes the SDK's client; it does not connect.
func (s *store) dial(ctx context.Context) (*storage.Client, error) {
	login := option.WithoutAuthentication()
	hc := &http.Client{Transport: filter{silence.Transport{Transport: s.transport}}}
	if !s.settings.anonymous() {
		creds, err := s.login()
		if err != nil {
			return nil, &credentialsError{err}
		}
		hc, err = httptransport.NewClient(&httptransport.Options{Credentials: creds, BaseRoundTripper: filter{silence.Transport{Transport: s.transport}}, DisableTelemetry: true})
		if err != nil {
			return nil, &credentialsError{err}
		}
		login, s.creds = option.WithAuthCredentials(creds), creds
	}
	hc.CheckRedirect = stay
	opts := []option.ClientOption{login, option.WithHTTPClient(hc), storage.WithDisabledClientMetrics()}
	if s.settings.endpoint != "" {
		opts = append(opts, option.WithEndpoint(s.settings.endpoint+"/storage/v1/"))
	}
	return storage.NewClient(ctx, opts...)
}

// login looks for credentials.
func (s *store) login() (*auth.Credentials, error) {
	o := &credentials.DetectOptions{Scopes: []string{storage.ScopeFullControl}, Client: &http.Client{Transport: s.transport, Timeout: time.Minute, CheckRedirect: stay}}
	creds, err := credentials.DetectDefault(o)
	if err == nil && bytes.Contains(creds.JSON(), []byte("use_default_certificate_config")) {
		o.Client = nil // only a client of the library has that certificate
		return credentials.DetectDefault(o)
	}
	return creds, err
}

// stay makes a client return redirects instead of following them: what it would send to
// another host has credentials.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	c, _, err := s.look(ctx, k)
	return c, err
}

// look reads a cell, and also returns what the SDK does not pass on.
func (s *store) look(ctx context.Context, k caslease.Key) (caslease.Cell, *reply, error) {
	c, answer, err := s.call(ctx, k, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
		attrs, err := o.Attrs(ctx)
		if errors.Is(err, storage.ErrObjectNotExist) && missing(err) && !bucketMissing(err) {
			return nil, nil
		}
		return attrs, err
	})
	if errors.Is(err, errLarge) {
		return caslease.Cell{Version: "?", Foreign: errLarge.Error()}, answer, nil
	}
	return c, answer, err
}

// Swap implements [caslease.Store]. It changes metadata, or creates the object.
// The service keeps the other keys.
func (s *store) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	metadata := map[string]string{}
	if to.State != "" {
		metadata[keyOf(k.Part)] = to.State
	}
	if to.Record != nil {
		metadata[recordKey] = caslease.EncodeText(to.Record)
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

// create creates the object, if it does not exist: ifGenerationMatch=0.
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

// List implements [caslease.Lister]. The service skips objects that have a slash after the
// prefix.
func (s *store) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	b, err := s.open(ctx)
	if err != nil {
		return nil, "", err
	}
	ctx, answer := withReply(ctx)
	answer.limit = maxListing
	prefix := s.settings.prefix + "/"
	it := b.Objects(ctx, &storage.Query{Prefix: prefix, Delimiter: "/", Projection: storage.ProjectionNoACL})
	it.PageInfo().MaxSize, it.PageInfo().Token = locks.MaxList, cursor
	for {
		a, err := it.Next()
		if err != nil && !errors.Is(err, iterator.Done) {
			return nil, "", err
		}
		if err == nil && a.Prefix == "" {
			if name, ok := nameOf(strings.TrimPrefix(a.Name, prefix)); ok {
				page = append(page, caslease.ListedCell{Name: name, Cell: cell(caslease.Lease, a, answer)})
			}
		}
		if err == nil && it.PageInfo().Remaining() > 0 { // Next beyond them would send another request
			continue
		}
		if next = it.PageInfo().Token; locks.CheckCursor(next) != nil { // a cursor contains the name of an object
			return nil, "", locks.Usagef("the prefix of the objects is too long to list them")
		}
		return page, next, nil
	}
}

// nameOf returns the name of the lock whose object has this name, after the prefix. It
// reports false if no lock's object can be called that.
func nameOf(object string) (string, bool) {
	name, err := url.PathUnescape(object)
	return name, err == nil && locks.EscapeName(name) == object
}

// call makes one request about an object, and collects what the SDK drops from its answer.
func (s *store) call(ctx context.Context, k caslease.Key, f func(context.Context, *storage.ObjectHandle) (*storage.ObjectAttrs, error)) (caslease.Cell, *reply, error) {
	b, err := s.open(ctx)
	if err != nil {
		return caslease.Cell{}, nil, err
	}
	ctx, answer := withReply(ctx)
	answer.sent = time.Now()
	a, err := f(ctx, b.Object(s.settings.object(k)))
	answer.took = time.Since(answer.sent)
	if err != nil || a == nil {
		return caslease.Cell{}, answer, err
	}
	if a.Generation <= 0 || a.Metageneration <= 0 || a.Created.IsZero() || a.Updated.IsZero() {
		return caslease.Cell{}, answer, errors.New("the answer lacks the object's generation, metageneration or times")
	}
	return cell(k.Part, a, answer), answer, nil
}

// cell returns the cell that an object holds, according to an answer.
//
// Its tokens start at Created, in microseconds, so that they go on rising after somebody
// has deleted an earlier object. (The service expressly does not promise that generation
// numbers rise.) Each write adds one to the metageneration, and so to the floor.
func cell(p caslease.Part, a *storage.ObjectAttrs, answer *reply) caslease.Cell {
	start := uint64(max(a.Created.UnixMicro(), 0))
	c := caslease.Cell{
		Version: fmt.Sprintf("%d/%d", a.Generation, a.Metageneration), State: a.Metadata[keyOf(p)],
		First: start + 1, Floor: start + uint64(max(a.Metageneration, 1)),
		Updated: a.Updated, Date: answer.date,
	}
	if _, ok := a.Metadata[keyOf(p)]; ok && c.State == "" {
		c.State = " " // somebody else wrote it; "" would mean that the key is missing
	}
	if value, ok := a.Metadata[recordKey]; ok {
		c.Record, ok = caslease.DecodeText(value)
		c.BadRecord = !ok
	}
	return c
}

// keyOf returns the metadata key of a cell's state.
func keyOf(p caslease.Part) string {
	if p == caslease.Request {
		return askKey
	}
	return stateKey
}

// conditions returns the conditions that an object has a version.
func conditions(version string) (c storage.Conditions) {
	_, _ = fmt.Sscanf(version, "%d/%d", &c.GenerationMatch, &c.MetagenerationMatch) // cell wrote it; for any other text, the SDK refuses the empty conditions
	return c
}

// follows reports whether a version of an object can come after another.
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
