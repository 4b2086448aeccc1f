package handle

import (
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

const (
	// maxRequest bounds what is read of a request, in bytes. Anybody may have written it.
	maxRequest = 64 << 10
	// maxNonce is longer than any nonce that we make, and maxSeen is how many we remember.
	maxNonce, maxSeen = 128, 64
)

// A Request is how a [locks.Asker]'s text is stored until the holder has read it.
type Request struct {
	Token uint64 `json:"token"` // of the term that is meant
	Nonce string `json:"nonce"` // distinguishes requests; a repeated attempt has the same one
	Text  string `json:"text"`
}

// NewRequest returns a request as it is stored.
func NewRequest(token uint64, text string) []byte {
	b, err := json.Marshal(Request{Token: token, Nonce: rand.Text(), Text: text})
	if err != nil {
		panic("handle: a request of strings and numbers cannot be encoded: " + err.Error())
	}
	return b
}

// ReadRequest reads a stored request, whoever wrote it, and returns nil if it makes no sense.
func ReadRequest(data []byte) *Request {
	var r Request
	if len(data) > maxRequest || json.Unmarshal(data, &r) != nil {
		return nil
	}
	return &r
}

// An Inbox receives the requests to a holder. Its methods may be called concurrently.
type Inbox struct {
	asked chan []byte // has room for one
	mu    sync.Mutex
	seen  map[string]bool // the nonces of requests that were delivered
}

// NewInbox returns an empty Inbox.
func NewInbox() *Inbox { return &Inbox{asked: make(chan []byte, 1), seen: map[string]bool{}} }

// Asked implements [locks.Asker].
func (in *Inbox) Asked() <-chan []byte { return in.asked }

// Deliver delivers a request to this holder, once, however often it arrives, in place of one
// that nobody has received yet: only the latest matters. It is ignored if its nonce is too long,
// or its text is not one that [locks.CheckText] accepts.
func (in *Inbox) Deliver(nonce string, text []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.seen[nonce] || len(nonce) > maxNonce || locks.CheckText(text) != nil {
		return
	}
	if len(in.seen) >= maxSeen {
		clear(in.seen)
	}
	in.seen[nonce] = true
	workers.Replace(in.asked, text)
}
