package consul

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A pair is a key with its value. A nil one is a key that does not exist.
type pair struct {
	Key         string
	Value       []byte
	Flags       uint64
	Session     string // which has it locked; "": none
	CreateIndex uint64
	ModifyIndex uint64
}

// held reports whether some session has the key locked.
func (p *pair) held() bool { return p != nil && p.Session != "" }

// same reports whether two answers are about the same state of the key.
func (p *pair) same(q *pair) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.ModifyIndex == q.ModifyIndex && p.Session == q.Session
}

// read reads a key.
func (c *client) read(ctx context.Context, key string) (*pair, error) {
	p, _, err := c.block(ctx, key, 0, 0)
	return p, err
}

// block reads a key, and if since is not 0 waits for a change; see get.
func (c *client) block(ctx context.Context, key string, since uint64, wait time.Duration) (*pair, uint64, error) {
	var all []*pair
	index, err := c.get(ctx, "/v1/kv/"+key, since, wait, &all)
	if err != nil || len(all) == 0 {
		return nil, index, err
	}
	return all[0], index, nil
}

// An op is one operation of a transaction.
type op struct {
	Verb      string
	Key       string
	Value     []byte `json:",omitempty"`
	Flags     uint64 `json:",omitempty"`
	Index     uint64 `json:",omitempty"`
	Session   string `json:",omitempty"`
	Namespace string `json:",omitempty"`
	Partition string `json:",omitempty"`
}

// A conflict is the reason why the server has not done a transaction.
type conflict struct {
	OpIndex int
	What    string
}

func (e *conflict) Error() string { return e.What }

// refused reports whether a permission was missing.
func (e *conflict) refused() bool { return strings.Contains(e.What, "Permission denied") }

// transact does all of these operations in one step, or none of them.
func (c *client) transact(ctx context.Context, ops ...op) ([]*pair, error) {
	return c.transactUpTo(ctx, maxAnswer, ops)
}

// transactUpTo is transact with another limit for what is read of the answer.
func (c *client) transactUpTo(ctx context.Context, limit int, ops []op) ([]*pair, error) {
	type wrapped struct{ KV op }
	var body []wrapped
	for _, o := range ops {
		o.Namespace, o.Partition = c.settings.query.Get("ns"), c.settings.query.Get("partition")
		body = append(body, wrapped{o})
	}
	var answer struct {
		Results []struct{ KV *pair }
		Errors  []*conflict
	}
	if _, err := c.put(ctx, "/v1/txn", body, limit, &answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		if i := slices.IndexFunc(answer.Errors, (*conflict).refused); i >= 0 {
			return nil, &statusError{http.StatusForbidden, answer.Errors[i].What}
		}
		return nil, answer.Errors[0]
	}
	var all []*pair
	for _, r := range answer.Results {
		if r.KV == nil {
			return nil, fmt.Errorf("%w: a transaction without a result", errForeign)
		}
		all = append(all, r.KV)
	}
	return all, nil
}
