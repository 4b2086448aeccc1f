package gcstest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// An Object is one that the emulator keeps.
type Object struct {
	Name           string            `json:"name"`
	Generation     int64             `json:"generation,string"`
	Metageneration int64             `json:"metageneration,string"`
	Created        time.Time         `json:"timeCreated"`
	Updated        time.Time         `json:"updated"`
	Metadata       map[string]string `json:"metadata"`
}

// matches reports whether the preconditions of a request hold.
func (o Object) matches(r Request) bool {
	holds := func(name string, is int64) bool {
		want := r.Query.Get(name)
		return want == "" || want == strconv.FormatInt(is, 10)
	}
	return holds("ifGenerationMatch", o.Generation) && holds("ifMetagenerationMatch", o.Metageneration)
}

// has reports whether the object's metadata includes all of metadata.
func (o Object) has(metadata map[string]string) bool {
	for k, v := range metadata {
		if is, ok := o.Metadata[k]; !ok || is != v {
			return false
		}
	}
	return true
}

// Objects returns the objects whose names begin with a prefix. No faults apply to it, nor
// to the other methods in this file.
func (s *Server) Objects(prefix string) []Object {
	s.tb.Helper()
	req := Request{Verb: "other", Method: http.MethodGet, Path: "/storage/v1/b/" + Bucket + "/o", Query: url.Values{"prefix": {prefix}}, Header: http.Header{}}
	var list struct {
		Items []Object `json:"items"`
	}
	answer := s.do(req)
	if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil {
		s.tb.Fatalf("list objects: %d %s", answer.Code, answer.Body)
	}
	return list.Items
}

// Object returns one object, and whether it exists.
func (s *Server) Object(name string) (o Object, ok bool) {
	for _, o := range s.Objects(name) {
		if o.Name == name {
			return o, true
		}
	}
	return Object{}, false
}

// Delete deletes an object, if it exists.
func (s *Server) Delete(name string) {
	s.do(Request{Verb: "delete", Method: http.MethodDelete, Path: "/storage/v1/b/" + Bucket + "/o/" + name, Query: url.Values{}, Header: http.Header{}})
}

// SetMetadata changes custom metadata of an object. It creates the object if it does not
// exist.
func (s *Server) SetMetadata(name string, metadata map[string]string) {
	s.tb.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if _, ok := s.Object(name); !ok {
		s.make(name)
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		s.tb.Fatal(err)
	}
	answer := s.do(Request{Verb: "patch", Method: http.MethodPatch, Path: "/storage/v1/b/" + Bucket + "/o/" + name, Query: url.Values{"alt": {"json"}}, Header: header, Body: body})
	if answer.Code != http.StatusOK {
		s.tb.Fatalf("patch %s: %d %s", name, answer.Code, strings.TrimSpace(answer.Body.String()))
	}
}

// Rewrite replaces an object, and keeps its custom metadata and the time of its creation.
// Its metageneration starts again.
func (s *Server) Rewrite(name string) {
	s.tb.Helper()
	o, ok := s.Object(name)
	if !ok {
		s.tb.Fatalf("there is no object %s", name)
	}
	s.make(name)
	s.SetMetadata(name, o.Metadata)
}

// make creates or replaces an object, without metadata.
func (s *Server) make(name string) {
	s.do(Request{Verb: "create", Method: http.MethodPost, Path: "/upload/storage/v1/b/" + Bucket + "/o", Query: url.Values{"uploadType": {"media"}, "name": {name}}, Header: http.Header{}})
}

// Age moves the time of an object's last change back by d.
func (s *Server) Age(name string, d time.Duration) {
	s.tb.Helper()
	o, ok := s.Object(name)
	if !ok {
		s.tb.Fatalf("there is no object %s", name)
	}
	body, _ := json.Marshal(map[string]any{"updated": o.Updated.Add(-d).Format(stamp)})
	s.do(Request{Verb: "age", Method: http.MethodPatch, Path: "/storage/v1/b/" + Bucket + "/o/" + name, Query: url.Values{"alt": {"json"}}, Header: http.Header{}, Body: body})
}
