package gcs

import (
	"crypto/tls"
	"time"

	"cloud.google.com/go/storage"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/clock"
)

// A view is what one answer of the service told about a lock's object.
type view struct {
	exists         bool
	name           string    // of the object, in a list
	generation     int64     // of the object: another one if it was made anew
	metageneration int64     // rises with each change of its metadata
	created        time.Time // by the service's clock
	updated        time.Time // when the metadata was last changed, by the service's clock
	record         record
	foreign        error             // why the record cannot be read; nil: it can
	metadata       map[string]string // all of it, whoever wrote it

	date        time.Time            // of the answer, by the service's clock; zero: not known
	tls         *tls.ConnectionState // of the connection; nil: it was not encrypted
	sent, heard clock.Instant        // on our boot clock: the request, and its answer
}

func newView(a *storage.ObjectAttrs) *view {
	v := &view{exists: true, generation: a.Generation, metageneration: a.Metageneration, created: a.Created, updated: a.Updated, metadata: a.Metadata}
	v.record, v.foreign = parseRecord(a.Metadata)
	return v
}

// same reports that two views show the object in the same state.
func (v *view) same(o *view) bool {
	return v.exists == o.exists && v.generation == o.generation && v.metageneration == o.metageneration
}

// token is that of the term the view shows, or if the lock is free, of the
// last one.
//
// The record has it, but for the first term of an object: the service says
// only after it has made an object when that was. Created, in microseconds, is
// where an object's tokens start, so that they go on rising when somebody has
// deleted the one before. (Generation numbers would do as well, but the service
// expressly does not promise that they rise.)
//
// Each write adds one to the metageneration. As the token is never less than
// the two together, no record, whatever it says, can make it fall.
func (v *view) token() uint64 {
	floor := uint64(max(v.created.UnixMicro(), 0)) + uint64(max(v.metageneration, 1))
	return max(v.record.Token, floor)
}

// status is what the record says.
func (v *view) status() locks.Status {
	if !v.exists || v.foreign != nil || v.record.State != held {
		return locks.Status{}
	}
	r := v.record
	s := locks.Status{Held: true, Holder: r.Holder, RunID: r.RunID, Host: r.Host, PID: r.PID, Since: r.Since, TTL: r.ttl(), Token: r.Token, NoResign: r.NoResign}
	if r.Start == locks.StartClean || r.Start == locks.StartTakeover {
		s.Start = r.Start // there is none in what an older leaderrun wrote
	}
	if s.Token == 0 {
		s.Token = firstToken(v)
	}
	return s
}

// present is the same, with what is left of the lease by the service's clocks. The
// Date is in whole seconds, rounded down, so that this may be up to a second too
// much, and what is said to be over is over. It is for people: see observer.
func (v *view) present() locks.Status {
	s := v.status()
	if !s.Held || v.date.Before(v.updated.Truncate(time.Second)) {
		return s
	}
	s.Left = v.record.ttl() - max(v.date.Sub(v.updated), 0)
	if s.Left == 0 {
		s.Left = -1 // 0 would say that it is not known
	}
	return s
}

// firstToken is that of the term that made the object: its metageneration was 1.
func firstToken(v *view) uint64 {
	first := *v
	first.metageneration = 1
	first.record.Token = 0
	return first.token()
}
