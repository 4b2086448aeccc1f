package gossip

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/hashicorp/memberlist"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// The bounds of what members say, in bytes.
const (
	maxCard    = memberlist.MetaMaxSize
	maxID      = 64       // of the name of a member, or of a request
	maxRequest = 32 << 10 // its text can have escapes of six bytes
)

// A card is the metadata of a member.
type card struct {
	Lock     string       `json:"lock"`  // its topic
	Since    int64        `json:"since"` // in milliseconds on the fleet's timeline
	Priority int          `json:"priority,omitempty"`
	Contends bool         `json:"contends,omitempty"`
	Leads    bool         `json:"leads,omitempty"`
	Token    uint64       `json:"token,omitempty"` // the greatest that it knows
	Label    locks.Status `json:"label,omitzero"`  // for people to read
}

// topic returns a short name for a lock.
func topic(space, lock string) string {
	sum := sha256.Sum256([]byte(space + "\n" + lock))
	return hex.EncodeToString(sum[:12])
}

func newLabel(o locks.Options) locks.Status {
	s := label.Of(o).Status()
	s.TTL = o.TTL
	return s
}

// encode returns a card that is short enough.
func (c card) encode() []byte {
	for limit := maxCard; ; limit /= 2 {
		l := &c.Label
		l.Holder, l.RunID, l.Host, l.Advertise = locks.Cut(l.Holder, limit), locks.Cut(l.RunID, limit), locks.Cut(l.Host, limit), locks.Cut(l.Advertise, limit)
		if b, _ := json.Marshal(c); len(b) <= maxCard || limit == 0 { // it cannot fail
			return b
		}
	}
}

// decodeCard reads the card of another member, which may be a lie.
func decodeCard(text string) (c card, ok bool) {
	err := json.Unmarshal([]byte(text), &c)
	l := c.Label
	c.Label = locks.Status{Held: true, Token: c.Token, Holder: l.Holder, RunID: l.RunID, Host: l.Host, PID: l.PID, Since: l.Since, TTL: max(0, l.TTL), NoResign: l.NoResign, Advertise: l.Advertise}
	return c, err == nil
}
