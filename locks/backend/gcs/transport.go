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
)

// maxAnswer is the most that is read of an answer. The service's are of a few
// KiB: it keeps 8 KiB of custom metadata for an object.
const maxAnswer = 256 << 10

// newTransport makes connections that speak HTTP/1.1. With HTTP/2 all requests
// share one connection, and one that has gone silent would take every renewal
// with it until the system gives it up, long after the lease has ended. Here a
// request that is not answered in time closes its connection, and the next
// attempt makes another.
func newTransport(connectTimeout time.Duration) *http.Transport {
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		Protocols:             http1,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       time.Minute,
		ExpectContinueTimeout: time.Second,
	}
}

// A reply is what the SDK does not pass on of an answer.
type reply struct {
	date time.Time            // by the service's clock; zero: not known
	tls  *tls.ConnectionState // of the connection; nil: it is not encrypted
	sent time.Time            // the request, by our clock
	took time.Duration        // until its answer

	limit int           // the most that is read of it, in bytes
	copy  *bytes.Buffer // gets what is read of it; nil: nothing does
}

type replyKey struct{}

// noting returns a context whose request notes what its answer says.
func noting(ctx context.Context) (context.Context, *reply) {
	r := &reply{limit: maxAnswer}
	return context.WithValue(ctx, replyKey{}, r), r
}

// A recorder notes the Date of each answer for who asked.
type recorder struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		req = req.Clone(req.Context())
		req.Header.Set("Cache-Control", "no-cache") // what a cache knows of a lock is old
	}
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := &limited{resp.Body, maxAnswer}
	resp.Body = body
	if note, ok := req.Context().Value(replyKey{}).(*reply); ok {
		note.date, note.tls = serviceDate(resp.Header), resp.TLS
		body.left = note.limit
		if note.copy != nil {
			resp.Body = copied{io.TeeReader(body, note.copy), body}
		}
	}
	return resp, nil
}

var errLarge = errors.New("has a description of more than 256 KiB")

// limited is an answer that fails when it is too long.
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

// copied is an answer of which a copy is made.
type copied struct {
	io.Reader
	io.Closer
}

// serviceDate is the Date of an answer, if nothing speaks against the service
// itself having written it. A cache says so with Age, a proxy with Via: either
// may have put in a Date of its own.
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
