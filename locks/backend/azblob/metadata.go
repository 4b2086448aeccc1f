package azblob

import (
	"encoding/ascii85"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// The keys of a blob's metadata under which a cell is kept. The service does not tell upper
// and lower case apart in them, and allows no hyphens.
const (
	stateKey  = "leaderrun"
	recordKey = "leaderrunrecord"
	askKey    = "leaderrunask"
)

// keyOf returns the metadata key of a cell's state.
func keyOf(p caslease.Part) string {
	if p == caslease.Request {
		return askKey
	}
	return stateKey
}

// askSuffix is appended to the name of a lock's blob, for the blob with a request. No name
// of a lock has a "~".
const askSuffix = "~ask"

// blob returns the name of the blob that holds a cell.
func (s *settings) blob(k caslease.Key) string {
	name := s.prefix + "/" + locks.EscapeName(k.Name)
	if k.Part == caslease.Request {
		name += askSuffix
	}
	return name
}

// unclaimed is the state of a blob that leaderrun has made, and that nobody has taken yet: the
// lock is free, unless another program has a lease, and nobody has released it. A blob without
// a state is not ours.
const unclaimed = `{"state":"free","nonce":"none","ttl_ms":15000,"broken":"none"}`

// What a Lessee is called.
const (
	lessee        = "an unnamed lease"
	lesseeForever = "another program's lease without end"
)

// A blobView is a blob according to one answer.
type blobView struct {
	etag              azcore.ETag
	metadata          map[string]string // with keys in lower case
	created, modified time.Time         // in whole seconds
	seen              time.Time         // when we had the first answer with this ETag
	leased, infinite  bool
}

// A head is what answers about a blob have in common.
type head struct {
	ETag          *azcore.ETag
	CreationTime  *time.Time
	LastModified  *time.Time
	LeaseStatus   *lease.StatusType
	LeaseDuration *lease.DurationType
	Metadata      map[string]*string
}

func (h head) view() *blobView {
	b := &blobView{metadata: map[string]string{}, leased: h.LeaseStatus != nil && *h.LeaseStatus == lease.StatusTypeLocked}
	b.infinite = b.leased && h.LeaseDuration != nil && *h.LeaseDuration == lease.DurationTypeInfinite
	if h.ETag != nil && h.CreationTime != nil && h.LastModified != nil {
		b.etag = azcore.ETag(`"` + strings.Trim(string(*h.ETag), `"`) + `"`) // a list omits the quotes
		b.created, b.modified = *h.CreationTime, *h.LastModified
	}
	for name, value := range h.Metadata {
		if value != nil {
			b.metadata[strings.ToLower(name)] = *value
		}
	}
	return b
}

// cell returns the cell that a blob holds.
//
// Tokens are counted from the service's clock, in microseconds, which it shows in whole
// seconds. A token that was granted in a second is less than the beginning of the next one,
// so a blob that is made later goes on above it: its first token is the beginning of the
// second after that, and is not granted before then (see grow).
func (b *blobView) cell(p caslease.Part) caslease.Cell {
	first := micros(b.created.Add(time.Second))
	c := caslease.Cell{Version: string(b.etag), First: first, Floor: max(first, micros(b.modified)), Leased: b.leased}
	if value, ok := b.metadata[recordKey]; ok && p == caslease.Lease {
		text, ok := decode(value)
		c.Record, c.BadRecord = []byte(text), !ok
	}
	if value, ok := b.metadata[keyOf(p)]; ok {
		if c.State, ok = decode(value); !ok || c.State == "" {
			c.State = " " // somebody else wrote it; "" would mean that the key is missing
		}
	}
	if c.State == unclaimed {
		c.Floor = max(first, micros(b.modified.Add(time.Second)))
	}
	switch {
	case b.infinite:
		c.Lessee = lesseeForever
	case b.leased && p == caslease.Lease && !caslease.LeaseOf(c.State).Held:
		c.Lessee = lessee
	}
	return c
}

func micros(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }

// with returns the metadata after a change. Keys of others stay.
func (b *blobView) with(p caslease.Part, to caslease.Value) map[string]*string {
	all := map[string]*string{}
	for name, value := range b.metadata {
		all[name] = &value
	}
	if to.State != "" {
		text := encode(to.State)
		all[keyOf(p)] = &text
	}
	if to.Record != nil {
		text := encode(string(to.Record))
		all[recordKey] = &text
	}
	return all
}

// encoded begins a text that is not stored as it is.
const encoded = "ascii85:"

// encode encodes a text for a header, which keeps printable ASCII without spaces at its
// ends. Of 4 bytes it makes 5 at most, so the largest state and the largest record take
// less than the 8 KiB that the service has for all metadata.
func encode(text string) string {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if text != "" && strings.TrimSpace(text) == text && !strings.ContainsFunc(text, odd) && !strings.HasPrefix(text, encoded) {
		return text
	}
	b := make([]byte, ascii85.MaxEncodedLen(len(text)))
	return encoded + string(b[:ascii85.Encode(b, []byte(text))])
}

// decode decodes a text, whoever wrote it, and reports whether that was possible.
func decode(value string) (text string, ok bool) {
	code, ok := strings.CutPrefix(value, encoded)
	if !ok {
		return value, true
	}
	b := make([]byte, 4*len(code))
	n, _, err := ascii85.Decode(b, []byte(code), true)
	return string(b[:n]), err == nil
}
