package file

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// A holder is what others may know about the holder of a lock. It never has the command,
// whose arguments may be secret.
type holder struct {
	ID      string    `json:"holder"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Version string    `json:"leaderrun"`
	RunID   string    `json:"run_id"`

	NoResign  bool   `json:"no_resign"`
	Advertise string `json:"advertise"`
	Start     string `json:"start"` // as in [locks.Status]
}

func newHolder(o locks.Options, now time.Time) holder {
	host, _ := os.Hostname() // for people only; may be ""
	return holder{ID: o.Holder, Host: host, PID: cmp.Or(o.PID, os.Getpid()), Since: now, Version: o.Version, RunID: o.RunID, NoResign: o.NoResign, Advertise: o.Advertise}
}

// encode returns h as JSON, with its texts cut so that an entry fits in its block even if
// each byte becomes six. The code is written by hand, because the first use of
// encoding/json in a process takes 0.1 ms.
func (h holder) encode() string {
	b := []byte(`{"holder":`)
	b = appendQuoted(b, cut(h.ID, 300))
	b = append(b, `,"host":`...)
	b = appendQuoted(b, cut(h.Host, 100))
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(h.PID), 10)
	b = append(b, `,"since":"`...)
	b = h.Since.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `","leaderrun":`...)
	b = appendQuoted(b, cut(h.Version, 50))
	b = append(b, `,"run_id":`...)
	b = appendQuoted(b, cut(h.RunID, 64))
	if h.NoResign {
		b = append(b, `,"no_resign":true`...)
	}
	if h.Advertise != "" {
		b = append(b, `,"advertise":`...)
		b = appendQuoted(b, cut(h.Advertise, locks.MaxAdvertise))
	}
	if h.Start != "" {
		b = append(b, `,"start":`...)
		b = appendQuoted(b, h.Start)
	}
	return string(append(b, '}'))
}

// status returns what the entry says about the holder.
func (e entry) status() locks.Status {
	var h holder
	if json.Unmarshal([]byte(e.holder), &h) != nil {
		return locks.Status{Held: true}
	}
	if h.Start != locks.StartClean && h.Start != locks.StartTakeover {
		h.Start = "" // an older leaderrun did not write it
	}
	return locks.Status{
		Held:   true,
		Holder: h.ID,
		RunID:  h.RunID,
		Host:   h.Host,
		PID:    h.PID,
		Since:  h.Since,
		Token:  e.token,

		NoResign:  h.NoResign,
		Advertise: cut(h.Advertise, locks.MaxAdvertise),
		Start:     h.Start,
	}
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

// appendQuoted appends s as a JSON string. It also escapes control characters that JSON
// allows, so that a lock file can be shown on a terminal.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || 0x7f <= r && r < 0xa0:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
