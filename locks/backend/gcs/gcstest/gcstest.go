// Package gcstest runs an emulator of Google Cloud Storage for tests.
//
// The emulator is gcsemu, which enforces every generation and metageneration
// precondition. A filter in front of it corrects what differs from the service. The filter
// can also fail requests on demand, and records every request. With it:
//
//   - an upload's answer has a crc32c, which the SDK checks;
//   - a change of metadata moves "updated", and times are in milliseconds, in a
//     list as elsewhere;
//   - a write that changes nothing moves neither "updated" nor the metageneration,
//     because the service's documentation promises this only for a change;
//   - a change that leads to more than 8 KiB of custom metadata is refused;
//   - a bucket that was not created does not exist;
//   - requests take effect one at a time.
package gcstest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fullstorydev/emulators/storage/gcsemu"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/script"
)

// Bucket is the only bucket.
const Bucket = "locks"

// stamp is how the service writes times.
const stamp = "2006-01-02T15:04:05.000Z07:00"

// maxMetadata is the most custom metadata that an object may have, in bytes: its keys
// and values together.
const maxMetadata = 8 << 10

// A Server is an emulator on a free port of 127.0.0.1.
type Server struct {
	script.Script[Request, Fault]

	tb   testing.TB
	emu  http.Handler
	addr string

	effect sync.Mutex // held while a request takes effect

	mu    sync.Mutex
	http  *http.Server // nil: stopped
	ended chan struct{}
}

// Start starts an emulator, which is stopped when the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	emu := gcsemu.NewGcsEmu(gcsemu.Options{})
	if err := emu.InitBucket(Bucket); err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	emu.Register(mux)
	s := &Server{tb: tb, emu: mux, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(realserver.FreePort(tb)))}
	s.Start()
	tb.Cleanup(s.Stop)
	return s
}

// Start serves again after Stop, at the same address and with the same data.
func (s *Server) Start() {
	s.tb.Helper()
	l := realserver.Listen(s.tb, s.addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = make(chan struct{})
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve)}
	go func(server *http.Server, ended chan struct{}) {
		defer close(ended)
		_ = server.Serve(l)
	}(s.http, s.ended)
}

// Stop closes the port and all connections.
func (s *Server) Stop() {
	s.mu.Lock()
	server, ended := s.http, s.ended
	s.http = nil
	s.mu.Unlock()
	if server != nil {
		_ = server.Close()
		<-ended
	}
}

// Addr returns "127.0.0.1:port".
func (s *Server) Addr() string { return s.addr }

// URL returns the address of a lock's store: a prefix in the bucket, reached
// over the given host and port.
func URL(addr, prefix string) *url.URL {
	return &url.URL{Scheme: "gcs", Host: Bucket, Path: "/" + prefix, RawQuery: url.Values{"endpoint": {"http://" + addr}}.Encode()}
}

// serve answers one request from the network.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	req, err := newRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f := s.Judge(req)
	if f.Drop {
		panic(http.ErrAbortHandler)
	}
	if f.Late != nil {
		<-f.Late
	}
	answer := httptest.NewRecorder()
	switch {
	case f.Status != 0:
		refuse(answer, f)
	case f.Answer != "":
		answer.Header().Set("Content-Type", "application/json; charset=UTF-8")
		_, _ = answer.WriteString(f.Answer)
	case req.Verb == "patch" && s.size(req) > maxMetadata:
		refuse(answer, Fault{Status: http.StatusBadRequest, Reason: "invalid", Message: "The metadata of the object is too large."})
	default:
		if f.Twice {
			s.do(req)
		}
		answer = s.do(req)
	}
	req.Status, req.At = answer.Code, time.Now()
	s.Note(req)
	if f.LoseReply {
		panic(http.ErrAbortHandler)
	}
	for k, v := range answer.Header() {
		w.Header()[k] = v
	}
	if f.Header != nil {
		w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
		f.Header(w.Header())
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// do lets a request take effect, and returns the answer.
func (s *Server) do(req Request) *httptest.ResponseRecorder {
	s.effect.Lock()
	defer s.effect.Unlock()
	answer := httptest.NewRecorder()
	if !strings.HasPrefix(req.Path+"/", "/storage/v1/b/"+Bucket+"/") && !strings.HasPrefix(req.Path+"/", "/upload/storage/v1/b/"+Bucket+"/") {
		refuse(answer, Fault{Status: http.StatusNotFound, Reason: "notFound", Message: "The specified bucket does not exist."})
		return answer
	}
	body := req.Body
	if req.Verb == "patch" {
		if o, ok := s.find(req); ok && o.matches(req) && o.has(metadataOf(body)) {
			req.Method = http.MethodGet
		} else {
			body = withUpdated(body, o.Updated)
		}
	}
	r := httptest.NewRequest(req.Method, "/", bytes.NewReader(body))
	r.URL = &url.URL{Path: req.Path, RawQuery: req.Query.Encode()}
	r.Header = req.Header
	s.emu.ServeHTTP(answer, r)
	if answer.Code == http.StatusOK && (req.Verb == "create" || req.Verb == "patch" || req.Verb == "read" || req.Verb == "list") {
		rewrite(answer, describe)
	}
	return answer
}

// find returns the object of a request. The caller holds s.effect.
func (s *Server) find(req Request) (o Object, ok bool) {
	answer := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL = &url.URL{Path: req.Path, RawQuery: "alt=json"}
	s.emu.ServeHTTP(answer, r)
	return o, answer.Code == http.StatusOK && json.Unmarshal(answer.Body.Bytes(), &o) == nil
}

// metadataOf returns the custom metadata that a change sets.
func metadataOf(body []byte) map[string]string {
	var change struct {
		Metadata map[string]string `json:"metadata"`
	}
	_ = json.Unmarshal(body, &change)
	return change.Metadata
}

// size returns how much custom metadata an object would have after a change, in bytes.
func (s *Server) size(req Request) (n int) {
	o, _ := s.Object(req.Path[strings.LastIndex(req.Path, "/o/")+len("/o/"):])
	all := map[string]string{}
	maps.Copy(all, o.Metadata)
	maps.Copy(all, metadataOf(req.Body))
	for k, v := range all {
		n += len(k) + len(v)
	}
	return n
}

// withUpdated adds the current time to a change of metadata. No two changes have the
// same millisecond, because over a network an answer and a request come between them.
func withUpdated(body []byte, before time.Time) []byte {
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return body
	}
	if passed := time.Since(before.Truncate(time.Millisecond)); 0 <= passed && passed < time.Millisecond {
		time.Sleep(time.Millisecond - passed)
	}
	fields["updated"] = time.Now().UTC().Format(stamp)
	b, _ := json.Marshal(fields)
	return b
}

// rewrite changes the description of an object, or those in a list.
func rewrite(answer *httptest.ResponseRecorder, change func(object map[string]any)) {
	var fields map[string]any
	d := json.NewDecoder(answer.Body)
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return
	}
	items, isList := fields["items"].([]any)
	if !isList {
		items = []any{fields}
	}
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			change(object)
		}
	}
	b, _ := json.Marshal(fields)
	answer.Body = bytes.NewBuffer(b)
}

// describe rewrites an object's times and checksum as the service writes them.
func describe(object map[string]any) {
	object["crc32c"] = "AAAAAA==" // of no content
	for _, k := range []string{"timeCreated", "updated"} {
		if text, ok := object[k].(string); ok {
			if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
				object[k] = t.UTC().Format(stamp)
			}
		}
	}
}

// refuse answers with an error as the service writes it.
func refuse(w http.ResponseWriter, f Fault) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": f.Status, "message": f.Message,
		"errors": []map[string]any{{"message": f.Message, "domain": "global", "reason": f.Reason}},
	}})
}

func readAll(r *http.Request) ([]byte, error) { return io.ReadAll(io.LimitReader(r.Body, 32<<20)) }
