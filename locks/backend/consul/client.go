package consul

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/bounded"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/silence"
)

// What is read of an answer is limited, because its JSON takes several times its length in
// memory. The numbers are of bytes.
const (
	// maxAnswer is enough for one value of at most 512 KiB, in base64.
	maxAnswer = 1 << 20
	// maxLook is enough for two values: what a list reads of a lock.
	maxLook = 2 << 20
	// maxNames is enough for the keys of 100,000 locks.
	maxNames = 16 << 20
)

// leastAnswer is how long any answer may take, apart from the wait for a change.
const leastAnswer = 2 * time.Second

// A client asks one agent, over HTTP/1.1: a request that is not answered in time closes its
// connection, and the next one makes another.
//
// It is not HashiCorp's library, which omits a lock delay of 0, so that the server takes
// its default of 15 s, reads files only once, and is larger than the rest of the program.
type client struct {
	settings *settings
	http     *http.Client
	timeout  time.Duration // of a request that does not block
	log      *slog.Logger
}

func newClient(s *settings, timeout time.Duration, log *slog.Logger) *client {
	c := &client{settings: s, timeout: timeout, log: log}
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	c.http = &http.Client{
		Transport:     silence.Transport{Transport: &http.Transport{DialContext: c.dial, DialTLSContext: c.dialTLS, Protocols: http1, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

func (c *client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	network := "tcp"
	if c.settings.socket {
		network = "unix"
	}
	return bounded.Dialer(hosts.Dialer((&net.Dialer{Timeout: c.timeout}).DialContext))(ctx, network, c.settings.addr)
}

func (c *client) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	plain, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	config := c.settings.tls.Resuming()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(c.settings.addr)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout) // that of a request does not end it
	defer cancel()
	conn := tls.Client(plain, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return conn, nil
}

// A statusError is an answer that reports an error.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// get reads keys consistently: the server that answers has made sure that it leads. If the
// keys do not exist, answer is not changed. It returns the index from which to wait. If since
// is not 0, the answer waits until something has changed since that index, or for that time.
func (c *client) get(ctx context.Context, path string, since uint64, wait time.Duration, answer any) (index uint64, err error) {
	query := url.Values{"consistent": {""}}
	timeout, limit := c.timeout, maxAnswer
	if since != 0 {
		query.Set("index", strconv.FormatUint(since, 10))
		query.Set("wait", wait.String())
		// The server adds the last, so that not all come back at once. If the connection has
		// fallen silent, the end of this notices.
		timeout = min(timeout, max(wait, leastAnswer)) + wait + wait/16
	}
	if strings.HasSuffix(path, "/") { // all that begins so
		query.Set("keys", "")
		limit = maxNames
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	found := resp.StatusCode == http.StatusOK
	if !found && resp.StatusCode != http.StatusNotFound {
		return 0, failure(resp)
	}
	index, err = strconv.ParseUint(resp.Header.Get("X-Consul-Index"), 10, 64)
	if err != nil || index == 0 {
		return 0, fmt.Errorf("%w: it has no index", errForeign)
	}
	if index < since { // the server's store was restored, and its indexes begin anew
		index = 0
	}
	if found {
		err = decode(resp, limit, answer)
	}
	return index, err
}

// put changes something, and reports whether it existed. The answer is read up to a limit.
func (c *client) put(ctx context.Context, path string, body any, limit int, answer any) (found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	resp, err := c.send(ctx, http.MethodPut, path, url.Values{"consistent": {""}}, body) // of a transaction that only reads
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusConflict && answer != nil: // of a transaction
		return true, decode(resp, limit, answer)
	case resp.StatusCode == http.StatusNotFound:
		return false, nil
	}
	return true, failure(resp)
}

// send sends a request. Its path is not escaped.
func (c *client) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	for name, values := range c.settings.query {
		query[name] = values
	}
	to := url.URL{Scheme: "http", Host: c.settings.addr, Path: c.settings.base + path, RawQuery: query.Encode()}
	if c.settings.tls != nil {
		to.Scheme = "https"
	}
	if c.settings.socket {
		to.Host = "localhost"
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		text = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	token := c.settings.token
	if file := c.settings.tokenFile.Now(c.log); file != "" {
		token = file
	}
	if token != "" {
		req.Header.Set("X-Consul-Token", token)
	}
	if c.settings.auth != nil {
		password, _ := c.settings.auth.Password()
		req.SetBasicAuth(c.settings.auth.Username(), password)
	}
	return c.http.Do(req)
}

// decode reads an answer. One that is not wanted is read as well, unless it is long, because
// only then its connection serves the next request.
func decode(resp *http.Response, limit int, answer any) error {
	if answer == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err == nil && len(text) > limit:
		return errTooLong
	case err == nil:
		err = json.Unmarshal(text, answer)
	}
	if err != nil && resp.Request.Context().Err() == nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	return err
}

// failure is the error that an answer reports.
func failure(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return err
	}
	e := &statusError{code: resp.StatusCode, text: strings.TrimSpace(strings.ReplaceAll(string(text), "rpc error making call: ", ""))}
	if e.text == "" || strings.HasPrefix(e.text, "<") {
		e.text = "HTTP status " + resp.Status
	}
	if strings.Contains(e.text, "Enterprise feature") {
		return locks.Usagef("%s: unset CONSUL_NAMESPACE and CONSUL_PARTITION, and omit namespace= and partition=", locks.Printable(e.text))
	}
	return e
}
