package record

import (
	"crypto/rand"
	"encoding/json"

	"github.com/leaderrun/leaderrun/locks"
)

// A Request is what backends keep of a [locks.Asker]'s text until the holder
// has read it.
type Request struct {
	Token uint64 `json:"token"` // the holder's
	Nonce string `json:"nonce"` // the request's: an attempt that is repeated has the same
	Text  string `json:"text"`
}

// NewRequest returns a request as it is stored.
func NewRequest(token uint64, text []byte) []byte {
	b, err := json.Marshal(Request{Token: token, Nonce: rand.Text(), Text: string(text)})
	if err != nil {
		panic("record: strings cannot be encoded: " + err.Error())
	}
	return b
}

// ReadRequest reads a request, whoever wrote it. It is nil if it makes no sense.
func ReadRequest(data []byte) *Request {
	var r Request
	if len(data) > maxSize || json.Unmarshal(data, &r) != nil {
		return nil
	}
	if len(r.Text) > locks.MaxRecord {
		return nil
	}
	return &r
}
