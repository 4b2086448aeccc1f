package file

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// encodeLabel returns a label as JSON, with its texts cut so that an entry fits in its block even if
// each byte becomes six. The code is written by hand, because the first use of
// encoding/json in a process takes 0.1 ms.
func encodeLabel(h label.Label) string {
	b := []byte(`{"holder":`)
	b = appendQuoted(b, locks.Cut(h.Holder, 300))
	b = append(b, `,"host":`...)
	b = appendQuoted(b, locks.Cut(h.Host, 100))
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(h.PID), 10)
	b = append(b, `,"since":"`...)
	b = h.Since.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `","version":`...)
	b = appendQuoted(b, locks.Cut(h.Version, 50))
	b = append(b, `,"run_id":`...)
	b = appendQuoted(b, locks.Cut(h.RunID, 64))
	if h.NoResign {
		b = append(b, `,"no_resign":true`...)
	}
	if h.Advertise != "" {
		b = append(b, `,"advertise":`...)
		b = appendQuoted(b, locks.Cut(h.Advertise, locks.MaxAdvertise))
	}
	if h.Start != "" {
		b = append(b, `,"start":`...)
		b = appendQuoted(b, h.Start)
	}
	return string(append(b, '}'))
}

// status returns what the entry says about the holder.
func (e entry) status() locks.Status {
	var h label.Label
	if json.Unmarshal([]byte(e.holder), &h) != nil {
		return locks.Status{Held: true}
	}
	h.Advertise = locks.Cut(h.Advertise, locks.MaxAdvertise)
	s := h.Status()
	s.Token = e.token
	return s
}

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
