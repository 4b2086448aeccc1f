// Package silence is for HTTP connections that have fallen silent.
package silence

import (
	"context"
	"errors"
	"net/http"
)

// A Transport uses no connection again that is as old as one that has fallen silent: whatever
// has forgotten that one, such as a NAT, may have forgotten all of them. A request over
// HTTP/1.1 that is not answered in time closes its own connection. With this transport, it also
// closes those that are idle, so that the next attempt makes a new one.
type Transport struct{ *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(req)
	if err != nil && errors.Is(req.Context().Err(), context.DeadlineExceeded) {
		t.CloseIdleConnections()
	}
	return resp, err
}
