package gcs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/bounded"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// maxAnswer is the most that is read of an answer, in bytes. The service's answers have a
// few KiB: it keeps 8 KiB of custom metadata for an object.
const maxAnswer = 256 << 10

// newTransport returns a transport that speaks HTTP/1.1. With HTTP/2, all requests
// share one connection. If that connection fell silent, every renewal would hang until
// the system gives the connection up, long after the lease has ended. With HTTP/1.1, a
// request without an answer in time closes its connection, and the next attempt opens
// another.
func newTransport(connectTimeout time.Duration) *http.Transport {
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            bounded.Dialer(hosts.Dialer(dialer.DialContext)),
		TLSHandshakeTimeout:    connectTimeout,
		Protocols:              http1,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		ExpectContinueTimeout:  time.Second,
	}
}

// A reply has what the SDK does not pass on of an answer.
type reply struct {
	date time.Time            // by the service's clock; zero: unknown
	tls  *tls.ConnectionState // of the connection; nil: it is not encrypted
	sent time.Time            // when the request was sent, by our clock
	took time.Duration        // from then until the answer

	limit int           // the most that is read of the answer, in bytes
	copy  *bytes.Buffer // receives the answer's body; nil: no copy is made
}

type replyKey struct{}

// withReply returns a context for one request, and the reply that is filled in from the
// request's answer.
func withReply(ctx context.Context) (context.Context, *reply) {
	r := &reply{limit: maxAnswer}
	return context.WithValue(ctx, replyKey{}, r), r
}

// A filter limits each answer, and fills in the reply in the request's context.
type filter struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (f filter) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		req = req.Clone(req.Context())
		req.Header.Set("Cache-Control", "no-cache") // a cached answer about a lock is out of date
	}
	resp, err := f.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := &limited{resp.Body, maxAnswer}
	resp.Body = body
	if answer, ok := req.Context().Value(replyKey{}).(*reply); ok {
		answer.date, answer.tls = serviceDate(resp.Header), resp.TLS
		body.left = answer.limit
		if answer.copy != nil {
			resp.Body = copied{io.TeeReader(body, answer.copy), body}
		}
	}
	return resp, nil
}

var errLarge = errors.New("has a description of more than 256 KiB")

// limited is the body of an answer. Reading it fails if it is too long.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLarge
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// copied is the body of an answer that is also written to a reply's copy.
type copied struct {
	io.Reader
	io.Closer
}

// serviceDate returns the Date of an answer, or zero if the service may not have written
// it. A cache adds Age or Warning, and a proxy Via; either may have replaced the Date.
func serviceDate(h http.Header) time.Time {
	if len(h["Date"]) != 1 || len(h["Age"]) > 0 || len(h["Via"]) > 0 || len(h["Warning"]) > 0 {
		return time.Time{}
	}
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}
