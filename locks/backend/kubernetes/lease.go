package kubernetes

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// The annotations of a Lease. The spec says the same as client-go's leader election would, for
// that election and for people. What leaderrun needs beyond that is in annotations, which
// electors keep.
const (
	prefix    = "leaderrun.github.io/"
	stateKey  = prefix + "state"
	recordKey = prefix + "record"
	askKey    = prefix + "request"
	nameKey   = prefix + "lock"  // the lock's name, where the object has another
	wroteKey  = prefix + "wrote" // see wrote
)

// A lease is a Lease of coordination.k8s.io/v1, as far as we read it.
type lease struct {
	Metadata struct {
		Name            string            `json:"name"`
		ResourceVersion string            `json:"resourceVersion"`
		Created         time.Time         `json:"creationTimestamp"`
		Annotations     map[string]string `json:"annotations"`
		Managed         []struct {
			Time time.Time `json:"time"` // of the last change by one program, by the server's clock
		} `json:"managedFields"`
	} `json:"metadata"`
	Spec spec      `json:"spec"`
	date time.Time // of the answer, by the server's clock; zero: unknown
}

// updated returns when the Lease was last changed, by the server's clock; zero: unknown.
func (l *lease) updated() (last time.Time) {
	for _, m := range l.Metadata.Managed {
		if m.Time.After(last) {
			last = m.Time
		}
	}
	return last
}

// A spec is that of a Lease. We only compare its times.
type spec struct {
	Holder      *string `json:"holderIdentity"`
	Seconds     *int64  `json:"leaseDurationSeconds"`
	Acquired    *string `json:"acquireTime"`
	Renewed     *string `json:"renewTime"`
	Transitions *int64  `json:"leaseTransitions"`
	Strategy    *string `json:"strategy"`
}

// wrote is what leaderrun notes about its last change of a Lease. If Spec is not that of the
// Lease, somebody else has taken, renewed or released it since, and our state is out of date.
type wrote struct {
	Spec   string `json:"spec"`
	Born   uint64 `json:"born"`   // the resource version after the creation; see first
	Change uint64 `json:"change"` // rises with each change that others must notice
}

// mark identifies a spec. Each write of an elector changes it.
func (s spec) mark() string {
	return value(s.Renewed) + " " + strconv.FormatInt(value(s.Transitions), 10) + " " + value(s.Holder)
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (l *lease) wrote() (w wrote) {
	_ = json.Unmarshal([]byte(l.Metadata.Annotations[wroteKey]), &w) // others may have written it
	return w
}

// ours reports whether leaderrun was the last to write the spec.
func (l *lease) ours() bool {
	_, ok := l.Metadata.Annotations[wroteKey]
	return ok && l.wrote().Spec == l.Spec.mark()
}

// version returns the resource version as a number: API servers promise that it is one, and
// that it rises with each change to anything in their store.
func (l *lease) version() uint64 {
	n, _ := strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64)
	return min(n, 1<<60)
}

// born returns the resource version after the creation. Until our first change notes it, the
// current one counts, which is the same unless somebody else has changed the Lease.
func (l *lease) born() uint64 {
	if n := l.wrote().Born; n > 0 && n <= l.version() {
		return n
	}
	return l.version()
}

// tokens is where the tokens of a Lease begin: its time of creation, as microseconds. That is in
// whole seconds, and so is the Date of an answer. A resource version is added, so that tokens go on
// rising if somebody deletes the Lease and creates another in the same second. If a cluster is
// built anew, where resource versions begin anew, the time of creation is the greater by far.
func tokens(created time.Time, version uint64) uint64 {
	return uint64(max(created.UnixMicro(), 0)) + version
}

// cell returns the cell that a Lease holds.
func (l *lease) cell(p caslease.Part) caslease.Cell {
	c := caslease.Cell{Version: l.Metadata.ResourceVersion, First: tokens(l.Metadata.Created, l.born()), Floor: tokens(l.Metadata.Created, l.version()), Updated: l.updated(), Date: l.date}
	if !l.date.IsZero() {
		c.Next = tokens(l.date, l.version()+1)
	}
	if p == caslease.Request {
		c.State = l.annotation(askKey)
		return c
	}
	if text, ok := l.Metadata.Annotations[recordKey]; ok {
		c.Record, ok = caslease.DecodeText(text)
		c.BadRecord = !ok
	}
	if l.ours() {
		c.State = l.annotation(stateKey)
	} else {
		c.State, c.Foreign = l.election()
	}
	return c
}

// annotation returns the text of an annotation, and "" only if there is none.
func (l *lease) annotation(key string) string {
	text, ok := l.Metadata.Annotations[key]
	if ok && text == "" {
		return " " // somebody else wrote it
	}
	return text
}

// A foreignState is the state of a Lease whose spec an elector wrote, in the words of
// package caslease.
type foreignState struct {
	Is     string `json:"state"`
	Nonce  string `json:"nonce"`
	TTLms  int64  `json:"ttl_ms"`
	Token  uint64 `json:"token"`
	Holder string `json:"holder,omitempty"`
	Broken string `json:"broken,omitempty"`
}

const (
	maxHolder = 2 << 10
	// unclean is the reason why nobody knows what became of the term before: an elector
	// releases a Lease when its own process may still be at work.
	unclean = "elector"
)

// election returns the state of a Lease as leader election has it, or why it has none. An
// elector that has released the Lease leaves no holder, and neither does who makes an empty one.
func (l *lease) election() (state, foreign string) {
	s := l.Spec
	f := foreignState{Is: "free", Nonce: unclean, TTLms: 1000, Token: l.earlier(), Broken: unclean}
	switch holder := value(s.Holder); {
	case value(s.Strategy) != "":
		return "", "is a coordinated election, whose leader the cluster chooses"
	case holder == "":
	case s.Acquired == nil || s.Transitions == nil:
		return "", "is the heartbeat of " + strconv.QuoteToASCII(holder[:min(len(holder), 100)]) + ", as kubelets and API servers have one"
	case len(holder) > maxHolder || value(s.Seconds) <= 0:
		return "", "names a holder, but not for how long"
	default:
		f = foreignState{Is: "held", Nonce: unclean + " " + holder + *s.Acquired, TTLms: *s.Seconds * 1000, Token: f.Token, Holder: holder}
	}
	b, _ := json.Marshal(f) // texts and numbers can be encoded
	return string(b), ""
}

// earlier returns a token for the term of an elector, above those before it.
func (l *lease) earlier() uint64 {
	var last struct {
		Token uint64 `json:"token"`
	}
	_ = json.Unmarshal([]byte(l.Metadata.Annotations[stateKey]), &last) // without one, it is the first term
	n := uint64(max(value(l.Spec.Transitions), 0)) + 1
	if last.Token >= 1<<61 { // nobody was granted such a token
		last.Token = 0
	}
	return cmp.Or(last.Token, tokens(l.Metadata.Created, 0)) + n
}

// elected reports whether an elector holds the Lease.
func (l *lease) elected() bool { return !l.ours() && value(l.Spec.Holder) != "" }
