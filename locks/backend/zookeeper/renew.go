package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Renew implements [queue.Entry]. If the last attempt failed, it uses another address.
func (e *entry) Renew(ctx context.Context) error {
	e.mu.Lock()
	proof, token, another := e.proof, e.token, e.failed
	e.mu.Unlock()
	if proof == "" {
		return locks.ErrNoLease
	}
	ctx, cancel := e.campaign.UntilOver(ctx)
	defer cancel()
	sent := clock.Boot{}.Now()
	err := e.s.renew(ctx, proof, another)
	if err == nil && token != 0 && e.lock.settings.unfair { // in fair mode, the node's name is only ours
		err = e.verify(ctx, proof, token)
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = errDeleted
	}
	if err == nil && token != 0 { // our node is still in the queue
		e.campaign.StillWaits()
	}
	return e.renewed(sent, err)
}

// verify checks that the node that leads is the one that we created.
func (e *entry) verify(ctx context.Context, path string, token uint64) error {
	n, err := e.s.get(ctx, path)
	if err == nil && n.token() != token {
		return errReplaced
	}
	return err
}

// renewed notes the result of an attempt that began at sent.
func (e *entry) renewed(sent clock.Instant, err error) error {
	ttl, granted := e.campaign.TTL(), e.s.session().timeout
	if err == nil && granted < ttl {
		err = fmt.Errorf("the server granted %v to a session that had %v; the servers of an ensemble need the same limits", granted, ttl)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = err != nil
	if err == nil {
		e.expires = max(e.expires, sent.Add(ttl))
	}
	return err
}
