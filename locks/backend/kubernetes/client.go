package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/leaderrun/leaderrun/locks/kit/bounded"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
	"github.com/leaderrun/leaderrun/locks/kit/silence"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

const (
	// maxAnswer is the most that is read of a Lease, in bytes: as much as the store of a cluster
	// takes.
	maxAnswer = 2 << 20
	// maxPage is the same for a page of 64 Leases, which have up to 256 KiB of
	// annotations each.
	maxPage = 24 << 20

	patchType = "application/merge-patch+json"

	// starting is how long a server that starts may refuse what we may do: it answers before it
	// has read the roles and accounts.
	starting = time.Minute
)

// A client sends requests to the API servers, without retries, over HTTP/1.1: a request that is
// not answered in time closes its connection, and the next one makes another. With HTTP/2, all
// would share one connection, which may have fallen silent.
//
// It takes configuration, TLS and credentials from client-go, but not the types of the API,
// which are larger than the rest of the program.
type client struct {
	base      *url.URL
	leases    string // the path of the namespace's Leases
	http      *http.Client
	transport *trusting
	plugin    *plugin // nil: there is none
	rights    *rights
	tls       atomic.Pointer[tls.ConnectionState] // of the last answer
}

func newClient(c *cluster, timeout time.Duration, log *slog.Logger) (*client, error) {
	base, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return nil, c.invalid(err)
	}
	wrapped, err := c.config.TransportConfig() // without TLS, clientcmd has left out the credentials
	if err != nil {
		return nil, c.invalid(err)
	}
	secure, err := transport.TLSConfigFor(wrapped)
	if err != nil {
		return nil, c.invalid(err)
	}
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if !wrapped.TLS.ReloadTLSFiles && c.plugin == nil { // who resumes a session has the certificate of its beginning
		secure.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	cl := &client{base: base, leases: "/apis/coordination.k8s.io/v1/namespaces/" + c.namespace + "/leases", rights: newRights()}
	t := newTransport(timeout)
	t.Proxy, t.TLSClientConfig = wrapped.Proxy, secure
	if wrapped.Proxy == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	cl.transport = &trusting{now: t, log: log}
	if wrapped.TLS.ReloadCAFiles {
		if cl.transport.roots, err = reload.Open("certificate-authority", tlsfiles.Authorities, wrapped.TLS.CAFile); err != nil {
			return nil, c.invalid(err)
		}
	}
	var trip http.RoundTripper = cl.transport
	if c.plugin != nil {
		cl.plugin = newPlugin(c, trip, cl.transport.CloseIdleConnections, log)
		secure.GetClientCertificate = cl.plugin.certificate
		trip = cl.plugin
	}
	if trip, err = transport.HTTPWrappersForConfig(wrapped, trip); err != nil {
		return nil, c.invalid(err)
	}
	cl.http = &http.Client{Transport: trip, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return cl, nil
}

// newTransport returns a transport whose connections end a quarter of a minute after the server's
// machine has fallen silent, also those of watches.
func newTransport(timeout time.Duration) *http.Transport {
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: timeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 2}}
	return &http.Transport{
		DialContext:         bounded.Dialer(hosts.Dialer(dialer.DialContext)),
		TLSHandshakeTimeout: timeout, Protocols: http1, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

// A trusting transport trusts the authorities in a file as it is now.
type trusting struct {
	roots *reload.Value[*x509.CertPool] // nil: they are in no file
	log   *slog.Logger

	mu      sync.Mutex
	now     *http.Transport
	trusted *x509.CertPool // by now; nil: those of the beginning
}

func (t *trusting) current() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if roots := t.roots.Now(t.log); roots != t.trusted {
		before := t.now
		t.now, t.trusted = before.Clone(), roots
		t.now.TLSClientConfig.RootCAs = roots
		before.CloseIdleConnections()
	}
	return t.now
}

// RoundTrip implements [http.RoundTripper].
func (t *trusting) RoundTrip(req *http.Request) (*http.Response, error) {
	return silence.Transport{Transport: t.current()}.RoundTrip(req)
}

// CloseIdleConnections closes connections that wait for a request.
func (t *trusting) CloseIdleConnections() { t.current().CloseIdleConnections() }

// A statusError is an answer that reports an error: a Status of the API, or what something else
// has said.
type statusError struct {
	Code    int    `json:"-"`
	Kind    string `json:"kind"`
	Soon    bool   `json:"-"` // what is refused may be allowed soon
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Details struct {
		Kind   string `json:"kind"` // of the object that is meant
		Causes []struct {
			Reason string `json:"reason"`
		} `json:"causes"`
	} `json:"details"`
}

func (e *statusError) Error() string {
	return cmp.Or(e.Message, e.Reason, "HTTP status "+http.StatusText(e.Code))
}

// send sends a request, whose answer the caller closes. Its body is JSON.
func (c *client) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	to := *c.base
	to.Path, to.RawQuery = to.JoinPath(path).Path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "leaderrun")
	switch {
	case method == http.MethodPatch:
		req.Header.Set("Content-Type", patchType)
	case body != nil:
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.rights.unanswered()
		return nil, err
	}
	c.tls.Store(resp.TLS)
	verb := method + query.Get("watch")
	if resp.StatusCode/100 == 2 {
		c.rights.allow(verb)
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	e := &statusError{Code: resp.StatusCode}
	if e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden {
		e.Soon = c.rights.soon(verb, c.plugin != nil && e.Code == http.StatusUnauthorized)
	}
	if text, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10)); err != nil {
		return nil, err
	}
	if e.Code == http.StatusUnauthorized { // a connection keeps its certificate, which may have ended
		c.transport.CloseIdleConnections()
	}
	if json.Unmarshal(text, e) != nil || e.Kind != "Status" {
		e.Kind, e.Message = "", ""
	}
	return nil, e
}

// rights are what the servers have let us do, by the verb.
type rights struct {
	mu      sync.Mutex
	allowed map[string]bool
	refused map[string]time.Time // since when, if it is refused
	away    time.Time            // when a request had no answer last
}

func newRights() *rights {
	return &rights{allowed: map[string]bool{}, refused: map[string]time.Time{}}
}

func (r *rights) allow(verb string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed[verb] = true
	delete(r.refused, verb)
}

// unanswered notes that a server may be starting.
func (r *rights) unanswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = time.Now()
}

// soon reports whether what is refused may be allowed soon: it was allowed before, or the server
// may have just started, or a plugin makes new credentials.
func (r *rights) soon(verb string, renewing bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[verb].IsZero() {
		r.refused[verb] = time.Now()
	}
	return (r.allowed[verb] || renewing || time.Since(r.away) < starting) && time.Since(r.refused[verb]) < starting
}

// ask sends a request, and reads its answer up to a limit. It returns the answer's Date.
func (c *client) ask(ctx context.Context, method, path string, query url.Values, body any, limit int, answer any) (date time.Time, err error) {
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return date, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return date, err
	case len(text) > limit:
		return date, fmt.Errorf("%w: it is too long", errForeign)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return date, fmt.Errorf("%w: %w", errForeign, err)
	}
	date, _ = http.ParseTime(resp.Header.Get("Date")) // without one, nobody knows
	return date, nil
}

func (c *client) close() {
	if c.plugin != nil {
		c.plugin.close()
	}
	c.transport.CloseIdleConnections()
}
