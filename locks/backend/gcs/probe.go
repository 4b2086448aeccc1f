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

// Probe implements [caslease.Prober]: the one server is the bucket. It makes at most four
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
		p.Servers.Servers = []locks.Server{{Address: p.address(), Error: err.Err.Error(), Class: locks.ServerClass(err)}}
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

// server reports what an answer about the lock's object shows of the service.
func (p *probe) server(answer *reply) {
	s := locks.Server{Address: p.address(), RTT: answer.took}
	if !answer.date.IsZero() {
		s.Time = answer.date.Add(time.Second / 2) // a Date is in whole seconds, rounded down
		s.Ours = answer.sent.Add(s.RTT / 2)
	}
	if answer.tls != nil {
		s.TLS, s.Expires = tlsfiles.Security(*answer.tls, nil)
	}
	p.Servers.Servers = []locks.Server{s}
}

// inspectBucket reports rules of the bucket that delete objects, or that they cannot be read.
func (p *probe) inspectBucket(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.store.patience)
	defer cancel()
	b, err := p.store.open(ctx)
	if err != nil {
		return
	}
	p.User = p.store.user(ctx)
	rules, err := lifecycleRules(ctx, b)
	const check = "lifecycle"
	switch {
	case err == nil:
		p.lifecycle(check, rules)
	case status(err) == http.StatusForbidden && !throttle(err):
		p.Find(check, locks.LevelWarning, "whether a rule deletes objects cannot be checked: storage.buckets.get is not allowed (locks do not need it)",
			"to have it checked, grant the account the role roles/storage.bucketViewer on the bucket")
	default:
		p.Find(check, locks.LevelWarning, "whether a rule deletes objects cannot be checked: "+plain(err), "try again")
	}
}

// lifecycle reports the rule that deletes most of our objects, if there is one.
func (p *probe) lifecycle(check string, rules []lifecycleRule) {
	const fix = "use a bucket without such rules, or limit them to other prefixes"
	classes := p.store.settings.classes(rules)
	var worst reach
	var which lifecycleRule
	for _, r := range rules {
		if got := p.store.settings.reaches(r, classes); r.Action.Type == "Delete" && got > worst {
			worst, which = got, r
		}
	}
	switch worst {
	case certain:
		p.Find(check, locks.LevelError, "the rule "+which.String()+" deletes objects of the prefix, even those of held locks: it counts from their creation, not from the last renewal", fix)
	case unclear:
		p.Find(check, locks.LevelWarning, "the rule "+which.String()+" may delete objects of some locks, even while they are held", "make sure that no lock's object meets the conditions, or limit the rule to other prefixes")
	}
}
