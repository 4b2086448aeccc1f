package zookeeper

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// A banner is what a server says of itself to everybody who writes "srvr", the one
// of its commands of four letters that is allowed unless somebody forbids it
// (FourLetterCommands). It needs no session, and so a server has it that gives
// none.
type banner struct {
	product string // "Zookeeper"; "": it said nothing that we know
	version string // "3.8.4"
	mode    string // "leader", "follower", "observer", "standalone" or "read-only"
	refused bool   // the command is not allowed
}

// maxBanner is the most that is read of one, in bytes.
const maxBanner = 16 << 10

var (
	errNoQuorum = errors.New("the server does not serve: the ensemble has no quorum, or elects its leader")
	errReadOnly = errors.New("the server is read-only: it has lost its quorum")
)

// askBanner has the server send its banner and close the connection. If it only
// closes that, nothing is known.
func askBanner(conn net.Conn) (banner, error) {
	_, err := io.WriteString(conn, "srvr")
	if err != nil {
		return banner{}, alert(conn, err)
	}
	text, err := io.ReadAll(io.LimitReader(conn, maxBanner))
	if len(text) == 0 && err != nil && !errors.Is(atOnce(err), errNotServing) {
		return banner{}, err
	}
	return readBanner(string(text))
}

func readBanner(text string) (b banner, err error) {
	switch {
	case strings.Contains(text, "not currently serving requests"): // AbstractFourLetterCommand.ZK_NOT_SERVING
		return b, errNoQuorum
	case strings.Contains(text, "is not executed because it is not in the whitelist"):
		b.refused = true
		return b, nil
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if product, ok := strings.CutSuffix(key, " version"); ok {
			b.product, b.version = locks.Abbreviate(product), upTo(value, ",- ") // "3.8.4-9316c2a, built on …"
		} else if key == "Mode" {
			b.mode = upTo(value, ", ")
		}
	}
	if b.mode == "read-only" {
		err = errReadOnly
	}
	return b, err
}

// upTo is a text up to the first of some characters, and not too long.
func upTo(s, any string) string {
	if end := strings.IndexAny(s, any); end >= 0 {
		s = s[:end]
	}
	return locks.Abbreviate(s)
}
