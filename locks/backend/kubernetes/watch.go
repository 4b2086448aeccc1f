package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// longestWatch is how long a watch lasts. A watch that has failed without a sign is made anew
// then, if not before.
const longestWatch = 5 * time.Minute

// An event is a change that a watch reports.
type event struct {
	Type   string `json:"type"`
	Object lease  `json:"object"`
}

// Watch implements [caslease.Watcher]. A lock has two Leases, and the API watches one, or all of
// a namespace. The servers may begin with what they have known for a while, which does no harm:
// what comes after that is reported.
func (s *store) Watch(ctx context.Context, name string) (<-chan struct{}, error) {
	selectors := []string{""}
	if name != "" {
		selectors = []string{"metadata.name=" + object(caslease.Key{Name: name}), "metadata.name=" + object(caslease.Key{Name: name, Part: caslease.Request})}
	}
	ctx, cancel := context.WithCancel(ctx)
	changes, ended := make(chan struct{}, 1), make(chan struct{}, len(selectors))
	for n, selector := range selectors {
		stream, err := s.stream(ctx, selector)
		if err != nil {
			cancel()
			for range n {
				<-ended
			}
			return nil, err
		}
		go func() {
			report(stream, changes)
			cancel() // the other one ends, too
			_ = stream.Close()
			ended <- struct{}{}
		}()
	}
	go func() {
		defer cancel()
		for range selectors {
			<-ended
		}
		close(changes)
	}()
	return changes, nil
}

// stream begins a watch.
func (s *store) stream(ctx context.Context, selector string) (io.ReadCloser, error) {
	query := url.Values{"watch": {"true"}, "resourceVersion": {"0"}, "timeoutSeconds": {strconv.Itoa(int(longestWatch / time.Second))}}
	if selector != "" {
		query.Set("fieldSelector", selector)
	}
	resp, err := s.client.send(ctx, http.MethodGet, s.client.leases, query, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// report reports what a watch does, until it ends. A renewal concerns nobody. The connection
// bounds what a server can make us keep.
func report(stream io.Reader, changes chan<- struct{}) {
	last := map[string]string{} // by the name of a Lease
	for events := json.NewDecoder(stream); ; {
		var e event
		if events.Decode(&e) != nil || e.Type == "ERROR" {
			return
		}
		now := e.Object.news()
		if e.Type == "DELETED" {
			now = e.Type
		}
		if was, ok := last[e.Object.Metadata.Name]; !ok || was != now {
			last[e.Object.Metadata.Name] = now
			workers.Poke(changes)
		}
	}
}

// news is what changes of a Lease when others must notice it.
func (l *lease) news() string {
	term := fmt.Sprint(value(l.Spec.Holder), " ", value(l.Spec.Transitions), " ", l.ours(), " ", l.wrote().Change)
	return term + l.Metadata.Annotations[askKey] + l.Metadata.Annotations[recordKey]
}
