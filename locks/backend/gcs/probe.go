package gcs

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Probe implements [caslease.Prober]: the one server is the bucket. It makes at most five
// requests, and only reads.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	p := probe{store: s, Servers: locks.Servers{Product: "Google Cloud Storage"}}
	if s.settings.anonymous() {
		p.Product = "an emulator of Google Cloud Storage"
	}
	var answer *reply
	look := func(ctx context.Context) (err error) {
		for range 2 { // the second uses an open connection, so its time is the RTT
			if _, answer, err = s.look(ctx, caslease.Key{Name: s.name}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := insist(ctx, look); err != nil {
		p.unusable(err)
		return p.Servers, nil
	}
	p.server(answer)
	p.inspectBucket(ctx)
	return p.Servers, nil
}

// A probe collects the findings.
type probe struct {
	store *store
	locks.Servers
}

// address returns the URL of the bucket.
func (p *probe) address() string {
	return cmp.Or(p.store.settings.endpoint, "https://storage.googleapis.com") + "/" + p.store.settings.bucket
}

// unusable reports the error that keeps us from using the bucket.
func (p *probe) unusable(e *locks.Error) {
	p.Find("bucket", locks.LevelError, e.Err.Error(), e.Hint)
	p.Servers.Servers = []locks.Server{{Address: p.address(), Error: e.Err.Error(), Class: locks.ServerClass(e)}}
}

// server reports what an answer about the lock's object shows of the service.
func (p *probe) server(answer *reply) {
	s := locks.Server{Address: p.address(), RTT: answer.took}
	if answer.date.IsZero() {
		p.Find("date", locks.LevelWarning, "the answers have no Date that is certainly the service's, so a waiter must watch the lock of a dead holder for a whole lease",
			"use no cache and no proxy that answers for the service")
	} else {
		s.Time = answer.date.Add(time.Second / 2) // a Date is in whole seconds, rounded down
		s.Ours = answer.sent.Add(s.RTT / 2)
	}
	if answer.tls != nil {
		s.TLS, s.Expires = tlsfiles.Security(*answer.tls, nil)
	}
	p.Servers.Servers = []locks.Server{s}
}

// inspectBucket reports on the bucket's settings and on the account's permissions, or that
// they cannot be read.
func (p *probe) inspectBucket(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.store.patience)
	defer cancel()
	b, err := p.store.open(ctx)
	if err != nil {
		return
	}
	p.User = p.store.user(ctx)
	attrs, rules, err := describe(ctx, b)
	switch {
	case err == nil:
		p.bucket(attrs)
		p.lifecycle(rules)
	case status(err) == http.StatusForbidden && !throttle(err):
		p.Find("bucket", locks.LevelWarning, "its settings cannot be checked: storage.buckets.get is not allowed (locks do not need it)",
			"to have them checked, grant the account the role roles/storage.bucketViewer on the bucket")
	default:
		p.Find("bucket", locks.LevelWarning, "cannot read its settings: "+plain(err), "try again")
	}
	has, err := b.IAM().TestPermissions(ctx, neededPermissions())
	switch {
	case p.store.settings.anonymous() && len(has) == 0: // emulators have no permissions
	case err != nil:
		p.Find("permissions", locks.LevelWarning, "cannot read them: "+plain(err), "try again")
	default:
		p.permissions(has)
	}
}
