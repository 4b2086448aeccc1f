// Package probe checks whether a server is healthy, for --health-http and --health-tcp.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
)

// Main checks the server at target, by a probe of the given kind: "http" or "tcp". It
// returns the exit status: 0 if the server is healthy, 1 if not, and 64 if the arguments
// are invalid; standard error says why. There is no time limit, because the caller sets
// one.
func Main(kind, target string) int {
	status := 1
	err := validate(kind, target)
	switch {
	case err != nil:
		status = 64
	case kind == "http":
		err = get(context.Background(), target)
	default:
		err = connect(context.Background(), target)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leaderrun-monitor:", err)
		return status
	}
	return 0
}

// validate reports whether a target is valid for a kind of probe. It contacts nothing.
func validate(kind, target string) error {
	switch kind {
	case "http":
		u, err := url.Parse(target)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("invalid URL (want http://127.0.0.1:8080/healthz, say)") // it may have a password
		}
	case "tcp":
		if _, port, err := net.SplitHostPort(target); err != nil || port == "" {
			return fmt.Errorf("invalid address %q (want 127.0.0.1:8080, say)", target)
		}
	default:
		return fmt.Errorf("unknown kind of probe %q; known: http, tcp", kind)
	}
	return nil
}

// get makes a GET request. The server is healthy if it answers with a status of 200 to
// 399; redirections are not followed. The certificate of an https URL is verified.
func get(ctx context.Context, target string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "leaderrun-monitor")
	client := http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true}, // the server itself, never a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the URL may have a password
	}
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the server does not see a reset
	if answer.StatusCode < 200 || answer.StatusCode > 399 {
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	return nil
}

// connect makes a connection. The server is healthy if it accepts it.
func connect(ctx context.Context, target string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return err
	}
	return conn.Close()
}
