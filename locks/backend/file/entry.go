package file

import (
	"fmt"
	"strconv"
	"strings"
)

// An entry is the latest state of a lock. The zero entry is below all others.
type entry struct {
	token    uint64 // the greatest token in use
	reserved uint64 // the greatest token known to be durable
	free     bool   // the holder has released the lock
	boot     string // the boot in which the entry was written
	holder   string // a holder, as JSON
}

// noBoot stands for an unknown boot.
const noBoot = "-"

// encode returns "TOKEN RESERVED held|free BOOT {holder}".
func (e entry) encode() []byte {
	state, boot := "held", e.boot
	if e.free {
		state = "free"
	}
	if boot == "" {
		boot = noBoot
	}
	return fmt.Appendf(nil, "%d %d %s %s %s", e.token, e.reserved, state, boot, e.holder)
}

// decodeEntry parses an entry. It returns the zero entry for an invalid text.
func decodeEntry(text string) entry {
	f := strings.SplitN(text, " ", 5)
	if len(f) != 5 || f[2] != "held" && f[2] != "free" {
		return entry{}
	}
	token, err1 := strconv.ParseUint(f[0], 10, 63)
	reserved, err2 := strconv.ParseUint(f[1], 10, 63)
	if err1 != nil || err2 != nil {
		return entry{}
	}
	e := entry{token: token, reserved: reserved, free: f[2] == "free", boot: f[3], holder: f[4]}
	if e.boot == noBoot {
		e.boot = ""
	}
	return e
}
