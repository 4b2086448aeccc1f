// Package silence is for HTTP connections that have fallen silent, or lead to a server that
// cannot serve. This is a package of its own because backends without HTTP must not link
// net/http.
package silence

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
)

// A Transport makes the request after a failed one use a new connection. Whatever has forgotten
// a connection, such as a NAT, may have forgotten all that are as old, and one address may lead
// to several servers, as that of a balancer does, of which a new connection may reach a better
// one. A request over HTTP/1.1 that is not answered in time closes its own connection. With this
// transport, it also closes those that are idle, and so does an error of the server.
//
// A refusal because of too many requests is not such a failure: more connections would not help.
// Nor is the end of a request that still waits for its connection: the next one gets that.
type Transport struct{ *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	connected := false
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	resp, err := t.Transport.RoundTrip(req.WithContext(ctx))
	switch {
	case err != nil && connected && !errors.Is(ctx.Err(), context.Canceled):
		t.CloseIdleConnections()
	case err == nil && unable(resp):
		resp.Body = closing{resp.Body, t.CloseIdleConnections}
	}
	return resp, err
}

// unable reports whether an answer says that the server cannot serve at the moment, for another
// reason than too many requests: then services say when to come again, but for Azure's.
func unable(resp *http.Response) bool {
	return resp.StatusCode >= 500 && resp.Header.Get("Retry-After") == "" && resp.Header.Get("X-Ms-Error-Code") != "ServerBusy"
}

// closing is the body of an answer whose connection is not used again.
type closing struct {
	io.ReadCloser
	closed func()
}

func (c closing) Close() error {
	err := c.ReadCloser.Close()
	c.closed()
	return err
}
