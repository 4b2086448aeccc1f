package gcs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"cloud.google.com/go/storage"
	"google.golang.org/api/option"

	"github.com/leaderrun/leaderrun/locks/clock"
)

// A client speaks with the service about one object. It makes one HTTP request
// for each call, and retries nothing: a retry of the SDK's own could make a
// write succeed twice, or hide that the first attempt's fate is unknown.
type client struct {
	*service
	name string // the object's
}

// A service is what all clients of a handle share: connections and credentials.
type service struct {
	s         *settings
	transport *http.Transport

	once  sync.Once
	ready chan struct{} // closed when what follows is set
	sdk   *storage.Client
	creds *auth.Credentials // nil: none are sent
	err   error
}

func newClient(s *settings, name string, connectTimeout time.Duration) *client {
	return &client{&service{s: s, transport: newTransport(connectTimeout), ready: make(chan struct{})}, name}
}

// beside returns a client for another object.
func (c *client) beside(name string) *client { return &client{c.service, name} }

// object returns a handle for requests. The first call looks for credentials,
// which may mean to ask the metadata server of the machine; ctx bounds the wait
// for that.
func (c *client) object(ctx context.Context) (*storage.ObjectHandle, error) {
	b, err := c.bucket(ctx)
	if err != nil {
		return nil, err
	}
	return b.Object(c.name), nil
}

func (c *service) bucket(ctx context.Context) (*storage.BucketHandle, error) {
	c.once.Do(func() {
		go func() {
			defer close(c.ready)
			c.sdk, c.err = c.dial(context.WithoutCancel(ctx))
		}()
	})
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, &searchError{ctx.Err()}
	}
	if c.err != nil {
		return nil, c.err
	}
	b := c.sdk.Bucket(c.s.bucket)
	if c.s.userProject != "" {
		b = b.UserProject(c.s.userProject)
	}
	return b.Retryer(storage.WithPolicy(storage.RetryNever)), nil
}

// dial makes the SDK's client; it does not connect.
func (c *service) dial(ctx context.Context) (*storage.Client, error) {
	login := option.WithoutAuthentication()
	hc := &http.Client{Transport: recorder{c.transport}}
	if !c.s.anonymous() {
		creds, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{storage.ScopeFullControl}})
		if err != nil {
			return nil, &credentialsError{err}
		}
		hc, err = httptransport.NewClient(&httptransport.Options{Credentials: creds, BaseRoundTripper: recorder{c.transport}, DisableTelemetry: true})
		if err != nil {
			return nil, &credentialsError{err}
		}
		login, c.creds = option.WithAuthCredentials(creds), creds
	}
	opts := []option.ClientOption{login, option.WithHTTPClient(hc), storage.WithDisabledClientMetrics()}
	if c.s.endpoint != "" {
		opts = append(opts, option.WithEndpoint(c.s.endpoint+"/storage/v1/"))
	}
	return storage.NewClient(ctx, opts...)
}

// A credentialsError says that there are no credentials, or none that can be used.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

// A searchError says that looking for credentials has taken too long.
type searchError struct{ err error }

func (e *searchError) Error() string { return "looking for credentials: " + e.err.Error() }
func (e *searchError) Unwrap() error { return e.err }

// read looks at the object. That there is none is no error.
func (c *client) read(ctx context.Context) (*view, error) {
	v, err := c.call(ctx, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
		attrs, err := o.Attrs(ctx)
		if errors.Is(err, storage.ErrObjectNotExist) && missing(err) && !bucketMissing(err) {
			return nil, nil
		}
		return attrs, err
	})
	if errors.Is(err, errLarge) {
		return &view{exists: true, foreign: errLarge}, nil
	}
	return v, err
}

// create makes the object, if there is none: ifGenerationMatch=0.
func (c *client) create(ctx context.Context, metadata map[string]string) (*view, error) {
	return c.call(ctx, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
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
	})
}

// patch replaces the values of some keys of the metadata, if the object is as a
// view showed it. The service keeps the other keys. If that changes anything, the
// answer must show it: see unmovedError.
func (c *client) patch(ctx context.Context, at *view, metadata map[string]string) (*view, error) {
	conds := storage.Conditions{GenerationMatch: at.generation, MetagenerationMatch: at.metageneration}
	v, err := c.call(ctx, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
		return o.If(conds).Update(ctx, storage.ObjectAttrsToUpdate{Metadata: metadata})
	})
	if err == nil && !at.has(metadata) {
		err = v.changed(at)
	}
	return v, err
}

// delete deletes the object, if it is as a view showed it.
func (c *client) delete(ctx context.Context, at *view) error {
	conds := storage.Conditions{GenerationMatch: at.generation, MetagenerationMatch: at.metageneration}
	_, err := c.call(ctx, func(ctx context.Context, o *storage.ObjectHandle) (*storage.ObjectAttrs, error) {
		return nil, o.If(conds).Delete(ctx)
	})
	return err
}

// call makes one request, and notes when.
func (c *client) call(ctx context.Context, f func(context.Context, *storage.ObjectHandle) (*storage.ObjectAttrs, error)) (*view, error) {
	o, err := c.object(ctx)
	if err != nil {
		return nil, err
	}
	ctx, note := noting(ctx)
	sent := clock.Boot{}.Now()
	attrs, err := f(ctx, o)
	if err != nil {
		return nil, err
	}
	v := new(view)
	if attrs != nil {
		if attrs.Generation <= 0 || attrs.Metageneration <= 0 || attrs.Created.IsZero() || attrs.Updated.IsZero() {
			return nil, errors.New("the answer lacks the object's generation, metageneration or times")
		}
		v = newView(attrs)
	}
	v.date, v.tls, v.sent, v.heard = note.date, note.tls, sent, clock.Boot{}.Now()
	return v, nil
}

// close ends idle connections. Requests under way end with their contexts.
func (c *service) close() { c.transport.CloseIdleConnections() }
