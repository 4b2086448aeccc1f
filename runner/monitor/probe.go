package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// probe checks the server at target, for --health: http://…, https://… or tcp://HOST:PORT. It
// returns the exit status: 0 if the server is healthy, 1 if not, and 64 if the target is
// invalid; standard error says why. There is no time limit, because the caller sets one.
func probe(target string) int {
	status := 1
	err := validate(target)
	address, tcp := strings.CutPrefix(target, tcpPrefix)
	switch {
	case err != nil:
		status = 64
	case tcp:
		err = connect(context.Background(), address)
	default:
		err = get(context.Background(), target)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leaderrun-monitor:", err)
		return status
	}
	return 0
}

const tcpPrefix = "tcp://"

// validate reports whether a target is valid. It contacts nothing.
func validate(target string) error {
	if address, ok := strings.CutPrefix(target, tcpPrefix); ok {
		if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
			return fmt.Errorf("invalid address %q (want tcp://127.0.0.1:8080, say)", target)
		}
		return nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("invalid URL (want http://127.0.0.1:8080/healthz, say)") // it may have a password
	}
	return nil
}

// get makes a GET request. The server is healthy if it answers with a status of 200 to
// 399; redirections are not followed. The certificate of an https URL is verified.
func get(ctx context.Context, target string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil) //nolint:gosec // the user names what to ask
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "leaderrun-monitor")
	client := http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true}, // the server itself, never a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request) //nolint:gosec // the same
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
