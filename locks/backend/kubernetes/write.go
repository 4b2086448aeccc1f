package kubernetes

import (
	"encoding/json"
	"time"

	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// microTime is how the API writes a time with microseconds.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// A change is what a write changes of a Lease: a merge patch, which leaves alone what others
// have written. A new Lease is a change of an empty one.
type change struct {
	APIVersion string         `json:"apiVersion,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Metadata   changedMeta    `json:"metadata"`
	Spec       map[string]any `json:"spec,omitempty"`
}

type changedMeta struct {
	Name            string            `json:"name,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"` // the condition
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// changes returns the change that makes a Lease hold a value.
func (l *lease) changes(k caslease.Key, to caslease.Value, now time.Time) change {
	c := change{Metadata: changedMeta{ResourceVersion: l.Metadata.ResourceVersion, Annotations: map[string]string{}}}
	if l.Metadata.ResourceVersion == "" {
		c.APIVersion, c.Kind, c.Metadata.Name = "coordination.k8s.io/v1", "Lease", object(k)
	}
	if !own(k.Name) {
		c.Metadata.Annotations[nameKey] = k.Name
	}
	if k.Part == caslease.Request {
		c.Metadata.Annotations[askKey] = to.State
		return c
	}
	next := l.Spec
	if to.State != "" {
		c.Metadata.Annotations[stateKey] = to.State
		next = l.Spec.next(to.State, now)
		c.Spec = next.changed()
	}
	if to.Record != nil {
		c.Metadata.Annotations[recordKey] = caslease.EncodeText(to.Record)
	}
	w := wrote{Spec: next.mark(), Born: l.born(), Change: l.wrote().Change}
	if !to.Silent {
		w.Change++
	}
	text, _ := json.Marshal(w) // texts and numbers can be encoded
	if to.State != "" || l.ours() {
		c.Metadata.Annotations[wroteKey] = string(text)
	}
	return c
}

// next returns the spec that goes with a state.
//
// Electors see a renewal only by a change of the spec, whose times they read in whole seconds.
// So each renewal is at least a second after the one before, also if the clock was set back or
// the ttl is short. Nobody compares it with a clock.
func (s spec) next(state string, now time.Time) spec {
	var at struct {
		Holder string `json:"holder"`
	}
	_ = json.Unmarshal([]byte(state), &at) // it is ours, but in tests
	now = now.UTC()
	if last, err := time.Parse(time.RFC3339Nano, value(s.Renewed)); err == nil && last.Year() < 9000 {
		now = later(now, last.UTC().Add(time.Second))
	}
	term, stamp := caslease.LeaseOf(state), now.Format(microTime)
	switch {
	case term.Nonce == "":
		return s
	case !term.Held: // as client-go releases it
		s.Holder, s.Seconds, s.Acquired, s.Renewed = new(string), new(int64), &stamp, &stamp
		*s.Seconds = 1
		return s
	}
	holder, seconds := at.Holder+"_"+term.Nonce, int64((term.TTL+time.Second-1)/time.Second)
	if holder != value(s.Holder) {
		transitions := value(s.Transitions)
		if s.Transitions != nil && transitions < 1<<31-1 {
			transitions++
		}
		s.Holder, s.Acquired, s.Transitions = &holder, &stamp, &transitions
	}
	s.Seconds, s.Renewed = &seconds, &stamp
	return s
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// changed returns the fields that leaderrun writes. What is nil is unset.
func (s spec) changed() map[string]any {
	return map[string]any{
		"holderIdentity": s.Holder, "leaseDurationSeconds": s.Seconds, "acquireTime": s.Acquired,
		"renewTime": s.Renewed, "leaseTransitions": s.Transitions,
	}
}
