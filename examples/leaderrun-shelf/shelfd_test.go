package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A shelfd is shared by all tests of a suite. Each test has its own prefix, and its own
// connection, which can be cut.
type shelfd struct {
	realserver.Process
	addr    string
	proxies faultproxy.Set
	tests   atomic.Int64
}

func start(t *testing.T) *shelfd {
	dir, addr := t.TempDir(), fmt.Sprint("127.0.0.1:", realserver.FreePort(t))
	d := &shelfd{addr: addr}
	d.Process = realserver.Process{
		TB: t, Path: build(t, "./shelfd", "shelfd"), Args: []string{addr, filepath.Join(dir, "data")}, LogFile: filepath.Join(dir, "log"),
	}
	d.serve()
	return d
}

func build(t *testing.T, pkg, name string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", file, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

func (d *shelfd) serve() {
	d.Start()
	d.WaitReady(func() bool {
		c, err := net.Dial("tcp", d.addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (d *shelfd) url(tb testing.TB, path string) *url.URL {
	return &url.URL{Scheme: "shelf", Host: d.proxies.New(tb, d.addr), Path: path}
}

// ask makes a request as any client could, and returns the body of the answer.
func (d *shelfd) ask(tb testing.TB, method, path, body string) string {
	tb.Helper()
	u := url.URL{Scheme: "http", Host: d.addr, Path: path}
	r, err := http.NewRequest(method, u.String(), strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Close = true
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer a.Body.Close()
	got, err := io.ReadAll(a.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return string(got)
}

// A fault is what happens to the next request that is not a GET.
type fault struct {
	http.RoundTripper
	kind atomic.Int64 // the Kind plus one; 0 for no fault
}

// RoundTrip implements [http.RoundTripper].
func (f *fault) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return f.RoundTripper.RoundTrip(r)
	}
	kind := causes.Kind(f.kind.Swap(0) - 1)
	if kind == causes.Throttled {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}, nil
	}
	a, err := f.RoundTripper.RoundTrip(r)
	if err == nil && kind == causes.Unknown {
		a.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return a, err
}
