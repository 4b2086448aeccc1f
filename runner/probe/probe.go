// Package probe asks a server whether it is well, for --health-http and
// --health-tcp. It is a program of its own, as package net/http would make the
// core twice as large.
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

	"github.com/leaderrun/leaderrun/locks/program/version"
)

// Main runs the program "leaderrun-probe http URL" or "… tcp HOST:PORT" and
// returns its exit status: 0 if the server is well, 1 if it is not, which
// standard error says why, and 64 if the arguments make no sense. It sets itself
// no time limit: whoever starts it does. "leaderrun-probe --version" tells its version.
func Main(args []string) int {
	if len(args) == 2 && args[1] == "--version" {
		fmt.Println("leaderrun-probe", version.Number())
		return 0
	}
	if len(args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: leaderrun-probe http URL | tcp HOST:PORT")
		return 64
	}
	kind, target := args[1], args[2]
	if err := Check(kind, target); err != nil {
		fmt.Fprintln(os.Stderr, "leaderrun-probe:", err)
		return 64
	}
	ask := TCP
	if kind == "http" {
		ask = HTTP
	}
	if err := ask(context.Background(), target); err != nil {
		fmt.Fprintln(os.Stderr, "leaderrun-probe:", err)
		return 1
	}
	return 0
}

// Check refuses a target that makes no sense for a kind of probe. It contacts
// nothing.
func Check(kind, target string) error {
	switch kind {
	case "http":
		u, err := url.Parse(target)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%q is no URL like http://127.0.0.1:8080/healthz", target)
		}
	case "tcp":
		if _, port, err := net.SplitHostPort(target); err != nil || port == "" {
			return fmt.Errorf("%q is no address like 127.0.0.1:8080", target)
		}
	default:
		return fmt.Errorf("unknown kind of probe %q; known: http, tcp", kind)
	}
	return nil
}

// HTTP makes a GET request. The server is well if it answers with a status of
// 200 to 399; redirections are not followed. The certificate of an https URL is
// verified.
func HTTP(ctx context.Context, target string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "leaderrun-probe")
	client := http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true}, // the server, and nothing on the way
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

// TCP makes a connection. The server is well if it accepts it.
func TCP(ctx context.Context, target string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return err
	}
	return conn.Close()
}
