package zookeeper

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// A serverInfo is a server's answer to "srvr", the only one of its four-letter commands
// that is allowed by default (FourLetterCommands). It needs no session, so a server that
// grants none also answers it.
type serverInfo struct {
	product string // "Zookeeper"; "": unknown
	version string // "3.8.4"
	mode    string // "leader", "follower", "observer" or "standalone"
	refused bool   // the command is not allowed
}

// maxServerInfo is the most that is read of an answer, in bytes.
const maxServerInfo = 16 << 10

// askServerInfo reads a server's answer, after which the server closes the connection. If
// it closes the connection without an answer, the result is empty, without an error.
func askServerInfo(conn net.Conn) (serverInfo, error) {
	_, err := io.WriteString(conn, "srvr")
	if err != nil {
		return serverInfo{}, tlsfiles.Alert(conn, err)
	}
	text, err := io.ReadAll(io.LimitReader(conn, maxServerInfo))
	if len(text) == 0 && err != nil && !errors.Is(atOnce(err), errNotServing) {
		return serverInfo{}, err
	}
	return parseServerInfo(string(text)), nil
}

func parseServerInfo(text string) (b serverInfo) {
	b.refused = strings.Contains(text, "is not executed because it is not in the whitelist")
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if product, ok := strings.CutSuffix(key, " version"); ok {
			b.product, b.version = locks.Abbreviate(product), upTo(value, ",- ") // "3.8.4-9316c2a, built on …"
		} else if key == "Mode" {
			b.mode = upTo(value, ", ")
		}
	}
	return b
}

// upTo returns a text up to the first of some characters, abbreviated if it is long.
func upTo(s, any string) string {
	if end := strings.IndexAny(s, any); end >= 0 {
		s = s[:end]
	}
	return locks.Abbreviate(s)
}
