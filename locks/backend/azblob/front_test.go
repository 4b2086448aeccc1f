package azblob_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// A front is a proxy that can fail a request.
type front struct {
	addr string
	next atomic.Pointer[fault]
}

// A fault is what becomes of the next request of a kind.
type fault struct {
	is     func(*http.Request) bool
	status int // 0: it takes effect, and its answer is lost
	code   string
}

func newFront(t testing.TB, server string) *front {
	t.Helper()
	f := &front{}
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	f.addr = serve(t, func(w http.ResponseWriter, r *http.Request) {
		bad := f.next.Load()
		switch {
		case bad == nil || !bad.is(r) || !f.next.CompareAndSwap(bad, nil):
			pass.ServeHTTP(w, r)
		case bad.status == 0:
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("x-ms-error-code", bad.code)
			w.WriteHeader(bad.status)
		}
	})
	return f
}

func serve(t testing.TB, f http.HandlerFunc) (addr string) {
	t.Helper()
	h := httptest.NewServer(f)
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h.Listener.Addr().String()
}

// comp is a kind of request about a blob: "metadata", or "lease" with an action.
func comp(what, action string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.URL.Query().Get("comp") == what && (action == "" || r.Header.Get("x-ms-lease-action") == action)
	}
}

// A late is a proxy that holds the first request of a kind back until deliver, even if its
// sender has given up.
type late struct {
	addr           string
	caught, gaveUp chan struct{}
	goOn, arrived  chan struct{}
	refuse         atomic.Pointer[func(*http.Request) bool]
}

func newLate(t testing.TB, server string, is func(*http.Request) bool) *late {
	t.Helper()
	l := &late{caught: make(chan struct{}), gaveUp: make(chan struct{}), goOn: make(chan struct{}), arrived: make(chan struct{})}
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	var once atomic.Bool
	l.addr = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if is(r) && once.CompareAndSwap(false, true) {
			close(l.caught)
			<-r.Context().Done()
			close(l.gaveUp)
			<-l.goOn
			pass.ServeHTTP(httptest.NewRecorder(), r.Clone(t.Context()))
			close(l.arrived)
			panic(http.ErrAbortHandler)
		}
		if refuse := l.refuse.Load(); refuse != nil && (*refuse)(r) {
			w.Header().Set("x-ms-error-code", "ServerBusy")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		pass.ServeHTTP(w, r)
	})
	return l
}

// hold refuses requests of a kind from now on; nil: none.
func (l *late) hold(is func(*http.Request) bool) {
	if is == nil {
		l.refuse.Store(nil)
		return
	}
	l.refuse.Store(&is)
}

func (l *late) deliver() { close(l.goOn); <-l.arrived }
