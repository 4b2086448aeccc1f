package gcs

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/storage"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Probe implements [caslease.Prober]: the one server is the bucket. It makes five
// requests at most, all of which only read.
func (s *store) Probe(ctx context.Context, insist func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	p := probe{store: s, Servers: locks.Servers{Product: "Google Cloud Storage"}}
	if s.anonymous() {
		p.Product = "an emulator of Google Cloud Storage"
	}
	var answer *reply
	look := func(ctx context.Context) (err error) {
		for range 2 { // the second is one on an open connection
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
	p.beside(ctx)
	return p.Servers, nil
}

// A probe collects what is found.
type probe struct {
	*store
	locks.Servers
}

// address is where the bucket is.
func (p *probe) address() string {
	return cmp.Or(p.endpoint, "https://storage.googleapis.com") + "/" + p.store.bucket
}

// unusable tells what keeps the bucket from being used.
func (p *probe) unusable(e *locks.Error) {
	p.Find("bucket", locks.LevelError, e.Err.Error(), e.Hint)
	p.Servers.Servers = []locks.Server{{Address: p.address(), Error: e.Err.Error(), Class: locks.ServerClass(e)}}
}

// server tells of a look at the lock's object.
func (p *probe) server(answer *reply) {
	s := locks.Server{Address: p.address(), RTT: answer.took}
	if answer.date.IsZero() {
		p.Find("date", locks.LevelWarning, "the answers have no Date that is surely the service's; the lock of a holder that died is had after a whole lease only",
			"let no cache or proxy answer for the service")
	} else {
		s.Time = answer.date.Add(time.Second / 2) // a Date is in whole seconds, rounded down
		s.Ours = answer.sent.Add(s.RTT / 2)
	}
	if answer.tls != nil {
		s.TLS, s.Expires = tlsfiles.Security(*answer.tls, nil)
	}
	p.Servers.Servers = []locks.Server{s}
}

// beside finds out what else is to be known. That it cannot is found, too.
func (p *probe) beside(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	b, err := p.open(ctx)
	if err != nil {
		return
	}
	p.User = p.user(ctx)
	attrs, rules, err := describe(ctx, b)
	switch {
	case err == nil:
		p.bucket(attrs)
		p.lifecycle(rules)
	case status(err) == http.StatusForbidden && !throttle(err):
		p.Find("bucket", locks.LevelWarning, "what it is like is not known: storage.buckets.get is not allowed, nor needed",
			"to have it checked, grant the account the role roles/storage.bucketViewer on the bucket")
	default:
		p.Find("bucket", locks.LevelWarning, "what it is like is not known: "+plain(err), "try again")
	}
	has, err := b.IAM().TestPermissions(ctx, permissions())
	switch {
	case p.anonymous() && len(has) == 0: // emulators know of none
	case err != nil:
		p.Find("permissions", locks.LevelWarning, "they are not known: "+plain(err), "try again")
	default:
		p.permissions(has)
	}
}

// permissions are those that a run needs, and last the one to forget a lock.
func permissions() []string {
	return []string{"storage.objects.create", "storage.objects.get", "storage.objects.list", "storage.objects.update", "storage.objects.delete"}
}

// permissions judges those that the account has on the bucket. It may have them on
// the prefix instead, which is not told; but then it has read the lock's object.
func (p *probe) permissions(has []string) {
	const fix = "grant the account the role roles/storage.objectUser on the bucket"
	needed := permissions()
	lacks := slices.DeleteFunc(needed, func(one string) bool { return slices.Contains(has, one) })
	text := "on the bucket there are not: " + strings.Join(lacks, ", ")
	switch {
	case len(lacks) == 0:
		p.Find("permissions", locks.LevelOK, "", "")
	case slices.Equal(lacks, []string{"storage.objects.delete"}):
		p.Find("permissions", locks.LevelWarning, text+"; only to forget a lock takes it", fix)
	case slices.Contains(lacks, "storage.objects.get"):
		p.Find("permissions", locks.LevelWarning, text+"; but objects can be read, so they may have been granted on the prefix", fix+", or on the prefix as a managed folder")
	default:
		p.Find("permissions", locks.LevelError, text, fix)
	}
}

// bucket judges what could delete or keep objects.
func (p *probe) bucket(a *storage.BucketAttrs) {
	access := "access by objects"
	if a.UniformBucketLevelAccess.Enabled {
		access = "uniform access"
	}
	p.Find("bucket", locks.LevelOK, strings.Join(slices.DeleteFunc([]string{a.Location, a.StorageClass, access}, func(s string) bool { return s == "" }), ", "), "")
	if a.VersioningEnabled {
		p.Find("versioning", locks.LevelOK, "on: a lock that is forgotten stays as a version; renewals make none", "")
	}
	if a.RetentionPolicy != nil {
		p.Find("retention", locks.LevelWarning, "objects cannot be deleted for "+a.RetentionPolicy.RetentionPeriod.String()+", and so no lock can be forgotten; renewals are allowed", "use a bucket without a retention policy, unless nobody minds")
	}
	if a.SoftDeletePolicy != nil && a.SoftDeletePolicy.RetentionDuration > 0 {
		p.Find("soft deletion", locks.LevelOK, "a lock that is forgotten is kept and paid for "+a.SoftDeletePolicy.RetentionDuration.String()+" more; renewals cost no more", "")
	}
	if cold(a.StorageClass) {
		p.Find("storage class", locks.LevelOK, "the bucket's default is "+a.StorageClass+"; the objects of locks are made in "+storageClass+", where renewals cost less", "")
	}
}
