package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A store keeps each cell as a document on a shelf, under a prefix.
type store struct {
	host, prefix string
	client       *http.Client
}

// path returns the path of a cell. No lock name contains "~" or leaves the prefix.
func (s *store) path(k caslease.Key) string {
	path := "/" + s.prefix + "/" + locks.EscapeName(k.Name)
	if k.Part == caslease.Request {
		path += "~request"
	}
	return path
}

// Read implements [caslease.Store].
func (s *store) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	return s.do(ctx, http.MethodGet, k, caslease.Cell{}, nil)
}

// A document is the JSON body of a document.
type document struct {
	State  string `json:"state"`
	Record []byte `json:"record"` // nil is null, and an empty record is ""
}

// Swap implements [caslease.Store]. It replaces the whole document, so it also writes the
// parts that do not change.
func (s *store) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	d := document{at.State, at.Record}
	if to.State != "" {
		d.State = to.State
	}
	if to.Record != nil {
		d.Record = to.Record
	}
	body, _ := json.Marshal(d) // strings and bytes can always be encoded
	return s.do(ctx, http.MethodPut, k, at, body)
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, k caslease.Key, at caslease.Cell) error {
	_, err := s.do(ctx, http.MethodDelete, k, at, nil)
	return err
}

// Close implements [caslease.Store].
func (s *store) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// do makes one request. All but GET require the document to be as it was read.
func (s *store) do(ctx context.Context, method string, k caslease.Key, at caslease.Cell, body []byte) (caslease.Cell, error) {
	u := url.URL{Scheme: "http", Host: s.host, Path: s.path(k)}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return caslease.Cell{}, err
	}
	switch {
	case method == http.MethodGet:
	case at.Version == "":
		r.Header.Set("If-None-Match", "*") // only if it does not exist
	default:
		r.Header.Set("If-Match", at.Version)
	}
	a, err := s.client.Do(r)
	if err != nil {
		return caslease.Cell{}, err
	}
	defer func() { _ = a.Body.Close() }()
	got, err := io.ReadAll(io.LimitReader(a.Body, caslease.MaxRead)) // anybody may have written it
	switch {
	case err != nil:
		return caslease.Cell{}, err
	case method == http.MethodGet && a.StatusCode == http.StatusNotFound:
		return caslease.Cell{}, nil
	case a.StatusCode != http.StatusOK:
		return caslease.Cell{}, refusal(a.StatusCode)
	}
	return cell(a.Header, got)
}

// cell decodes an answer.
func cell(h http.Header, body []byte) (c caslease.Cell, err error) {
	c.Version = h.Get("ETag")
	c.First, _ = strconv.ParseUint(h.Get("Shelf-Made"), 10, 64)
	c.Floor, _ = strconv.ParseUint(strings.Trim(c.Version, `"`), 10, 64)
	c.Updated, _ = time.Parse(time.RFC3339Nano, h.Get("Shelf-Changed"))
	c.Date, _ = time.Parse(time.RFC3339Nano, h.Get("Shelf-Now"))
	if c.First == 0 || c.Floor < c.First || c.Updated.IsZero() || c.Date.IsZero() {
		return caslease.Cell{}, errors.New("the answer is not one of a shelfd")
	}
	var d document
	if json.Unmarshal(body, &d) != nil {
		c.Foreign = "is not one of leaderrun's"
	}
	c.State, c.Record = d.State, d.Record
	return c, nil
}
