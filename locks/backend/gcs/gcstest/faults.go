package gcstest

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Request is one that the emulator has received.
type Request struct {
	Verb   string // "read", "create", "patch", "delete", "list", "bucket", or "other"
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	Status int       // of the answer
	At     time.Time // when it was answered
}

// Kind implements [script.Request].
func (r Request) Kind() string { return r.Verb }

// A Fault says what happens to a request. The zero Fault lets it pass.
type Fault struct {
	Late      <-chan struct{}   // the request takes effect when this is closed, even if nobody waits for the answer
	Drop      bool              // close the connection; the request has no effect
	LoseReply bool              // let the request take effect, and close the connection
	Twice     bool              // the request arrives twice, and the second answer is sent
	Status    int               // refuse the request with this status
	Reason    string            // of the refusal, as the service calls it
	Message   string            // of the refusal
	Answer    string            // answer with this JSON
	Header    func(http.Header) // changes the answer's header, which has a Date
}

func newRequest(r *http.Request) (Request, error) {
	body, err := readAll(r)
	req := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Body: body, Verb: "other"}
	object := strings.Contains(r.URL.Path, "/o/")
	switch {
	case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/upload/"):
		req.Verb = "create"
	case r.Method == http.MethodGet && object:
		req.Verb = "read"
	case r.Method == http.MethodPatch && object:
		req.Verb = "patch"
	case r.Method == http.MethodDelete && object:
		req.Verb = "delete"
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/o"):
		req.Verb = "list"
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/b/"+Bucket):
		req.Verb = "bucket"
	}
	return req, err
}

// Preconditions returns the request's preconditions, as "name" or "name=0".
func (r Request) Preconditions() []string {
	var all []string
	for _, name := range []string{"ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch", "ifMetagenerationNotMatch"} {
		switch r.Query.Get(name) {
		case "":
		case "0":
			all = append(all, name+"=0")
		default:
			all = append(all, name)
		}
	}
	return all
}
