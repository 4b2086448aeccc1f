package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A store keeps cells in Leases. Each call is one request, but for a write of a Lease that this
// store has not seen in that version.
type store struct {
	client *client
	name   string // of the lock whose handle this is, for Probe

	mu   sync.Mutex
	seen map[string]*lease // the last one that an answer had, by its name
}

func newStore(c *client, o locks.Options) *store {
	return &store{client: c, name: o.Name, seen: map[string]*lease{}}
}

func (s *store) path(name string) string { return s.client.leases + "/" + name }

// one makes a request about the Lease of a cell, and notes the answer.
func (s *store) one(ctx context.Context, method, path string, k caslease.Key, body any) (*lease, error) {
	l := &lease{}
	date, err := s.client.ask(ctx, method, path, nil, body, maxAnswer, l)
	if err != nil {
		return nil, err
	}
	l.date = date
	if l.Metadata.Name != object(k) || l.version() == 0 || l.Metadata.Created.IsZero() {
		return nil, fmt.Errorf("%w: it lacks the name, the version or the time of a Lease", errForeign)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[l.Metadata.Name] = l
	return l, nil
}

// look returns a Lease, or nil if there is none.
func (s *store) look(ctx context.Context, k caslease.Key) (*lease, error) {
	l, err := s.one(ctx, http.MethodGet, s.path(object(k)), k, nil)
	if isMissing(err) {
		return nil, nil
	}
	return l, err
}

// Read implements [caslease.Store]. Without a resource version in the request, the answer is as
// new as the request.
func (s *store) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	l, err := s.look(ctx, k)
	if err != nil || l == nil {
		return caslease.Cell{}, err
	}
	return l.cell(k.Part), nil
}

// as returns the Lease as it was when it had the version of a cell.
func (s *store) as(ctx context.Context, k caslease.Key, at caslease.Cell) (*lease, error) {
	s.mu.Lock()
	l := s.seen[object(k)]
	s.mu.Unlock()
	if l != nil && l.Metadata.ResourceVersion == at.Version {
		return l, nil
	}
	l, err := s.look(ctx, k)
	if err == nil && (l == nil || l.Metadata.ResourceVersion != at.Version) {
		err = errChanged
	}
	return l, err
}

// Swap implements [caslease.Store].
func (s *store) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	method, path, l := http.MethodPost, s.client.leases, &lease{}
	var err error
	if at.Version != "" {
		method, path = http.MethodPatch, s.path(object(k))
		if l, err = s.as(ctx, k, at); err != nil {
			return caslease.Cell{}, err
		}
	}
	if k.Part == caslease.Lease && l.elected() && caslease.LeaseOf(to.State).Broken {
		return caslease.Cell{}, errElected
	}
	if l, err = s.one(ctx, method, path, k, l.changes(k, to, time.Now())); err != nil {
		return caslease.Cell{}, err
	}
	return l.cell(k.Part), nil
}

// Delete implements [caslease.Store].
func (s *store) Delete(ctx context.Context, k caslease.Key, at caslease.Cell) error {
	type conditions struct {
		ResourceVersion string `json:"resourceVersion"`
	}
	var answer any
	_, err := s.client.ask(ctx, http.MethodDelete, s.path(object(k)), nil, map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions{at.Version},
	}, maxAnswer, &answer)
	return err
}

// List implements [caslease.Lister]. It omits the Leases that leaderrun has never written.
func (s *store) List(ctx context.Context, cursor string) (page []caslease.ListedCell, next string, err error) {
	query := url.Values{"limit": {strconv.Itoa(locks.MaxList)}}
	if cursor != "" {
		query.Set("continue", cursor)
	}
	var answer struct {
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
		Items []*lease `json:"items"`
	}
	date, err := s.client.ask(ctx, http.MethodGet, s.client.leases, query, nil, maxPage, &answer)
	if err != nil {
		return nil, "", err
	}
	for _, l := range answer.Items {
		if name, ok := l.lock(); ok {
			l.date = date
			page = append(page, caslease.ListedCell{Name: name, Cell: l.cell(caslease.Lease)})
		}
	}
	return page, answer.Metadata.Continue, nil
}

// lock returns the name of the lock that a Lease belongs to. It reports false if leaderrun has
// not written the Lease, or only a request.
func (l *lease) lock() (name string, ok bool) {
	if l == nil {
		return "", false
	}
	name = l.Metadata.Name
	if other, ok := l.Metadata.Annotations[nameKey]; ok {
		name = other
	}
	_, written := l.Metadata.Annotations[stateKey]
	return name, written && name != "" && object(caslease.Key{Name: name}) == l.Metadata.Name
}

// follows reports whether a version can come after another: it rises with each change to
// anything.
func follows(before, after string) bool {
	return len(after) > len(before) || len(after) == len(before) && after > before
}

// Close implements [caslease.Store]. Requests under way end with their contexts.
func (s *store) Close() error {
	s.client.close()
	return nil
}

var (
	_ caslease.Lister  = (*store)(nil)
	_ caslease.Watcher = (*store)(nil)
	_ caslease.Prober  = (*store)(nil)
)
