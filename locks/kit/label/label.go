// Package label is what a run says about itself in a store, for people to read. It never has
// the command, whose arguments may be secret. It is a package of its own because both recipes,
// and backends without one, write it.
package label

import (
	"cmp"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Label is about the holder of a lock, or about a waiter. As JSON it may be part of more.
type Label struct {
	Holder    string    `json:"holder,omitempty"`
	Host      string    `json:"host,omitempty"`
	PID       int       `json:"pid,omitempty"`
	RunID     string    `json:"run_id,omitempty"`
	Since     time.Time `json:"since,omitzero"` // the start of the term, or of the wait, by the writer's wall clock
	Version   string    `json:"version,omitempty"`
	NoResign  bool      `json:"no_resign,omitempty"`
	Advertise string    `json:"advertise,omitempty"`
	Start     string    `json:"start,omitempty"` // as in [locks.Status]; older versions do not write it
}

// Of returns the label of a run whose wait or term begins now.
func Of(o locks.Options) Label {
	host, _ := os.Hostname() // without a name it is left out
	return Label{
		Holder: o.Holder, Host: host, PID: cmp.Or(o.PID, os.Getpid()), RunID: o.RunID, Version: o.Version,
		Since: time.Now().UTC().Truncate(time.Millisecond), NoResign: o.NoResign, Advertise: o.Advertise,
	}
}

// Cut returns a label whose texts have at most n bytes.
func (l Label) Cut(n int) Label {
	for _, text := range []*string{&l.Holder, &l.Host, &l.RunID, &l.Version, &l.Advertise} {
		*text = locks.Cut(*text, n)
	}
	return l
}

// Status returns what a label says about the holder, whoever wrote it. What makes no sense is
// left out.
func (l Label) Status() locks.Status {
	s := locks.Status{
		Held: true, Holder: l.Holder, RunID: l.RunID, Host: l.Host, PID: max(l.PID, 0), Since: l.Since,
		NoResign: l.NoResign, Advertise: l.Advertise,
	}
	if l.Start == locks.StartClean || l.Start == locks.StartTakeover {
		s.Start = l.Start
	}
	return s
}
