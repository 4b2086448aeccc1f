package gossip

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// settings are what a URL and the environment say.
type settings struct {
	seeds    []string                // "host:port"
	bind     string                  // "host:port"; "": what the seeds say
	space    string                  // of the locks: the path of the URL
	least    int                     // how many members a leader must see
	priority bool                    // rank=priority
	keys     *reload.Value[[][]byte] // nil: nothing is encrypted
}

// parse reads the URL, and takes the seeds from the environment if it has none. All errors
// wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	q := u.Query()
	list, from := u.Host, "the gossip URL"
	if list == "" {
		list, from = getenv("LEADERRUN_GOSSIP_SEEDS"), "LEADERRUN_GOSSIP_SEEDS"
	}
	if q.Has("expect") {
		return nil, moved(u, list)
	}
	if q.Has("insecure") {
		return nil, locks.Usagef("gossip parameter insecure= is no longer known: make a key, with head -c 32 /dev/urandom | base64, put it into a file on each host, and name that with key-file=FILE")
	}
	if err := known.Gossip.CheckURL(u); err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, locks.Usagef("a gossip URL has no user: name a file with keys with key-file=")
	}
	s := &settings{space: strings.Trim(u.Path, "/")}
	if s.space != "" {
		if err := locks.CheckName(s.space); err != nil {
			return nil, locks.Usagef("the path of the gossip URL: %v", err)
		}
	}
	if list == "" {
		return nil, locks.Usagef("no member is named; write %s, or set LEADERRUN_GOSSIP_SEEDS", known.Gossip.URL)
	}
	var err error
	if s.seeds, err = hosts.Parse(list, from, known.Gossip.Port); err != nil {
		return nil, err
	}
	if s.bind, err = parseBind(q.Get("bind")); err != nil {
		return nil, err
	}
	if err := s.setRank(q); err != nil {
		return nil, err
	}
	if s.keys, err = reload.OpenSecret("gossip parameter key-file", parseKeys, q.Get("key-file")); err != nil {
		return nil, locks.Usagef("%v", err)
	}
	return s, nil
}

// moved returns the error for a URL with expect=, whose locks are those of quorum now.
func moved(u *url.URL, list string) error {
	q := u.Query()
	all := strings.ReplaceAll(cmp.Or(list, "h1,h2,h3"), ":7946", "") // once our port; quorum has its own
	to, rest := fmt.Sprintf("quorum://%s%s?key-file=%s", all, u.Path, cmp.Or(q.Get("key-file"), "FILE")), ""
	if n := len(strings.Split(all, ",")); q.Get("expect") != strconv.Itoa(n) {
		rest = fmt.Sprintf(", with the names of all %s hosts that are to vote in place of these %d", locks.Abbreviate(q.Get("expect")), n)
	}
	return locks.Usagef("gossip excludes nobody, and has no expect=: for a lock by votes of the hosts write %s%s", locks.Printable(to), rest)
}

// parseBind reads one address, which may have port 0, unlike that of a server.
func parseBind(bind string) (string, error) {
	host, free := strings.CutSuffix(bind, ":0")
	if host == "" {
		host = bind
	}
	all, err := hosts.Parse(host, "gossip parameter bind", known.Gossip.Port)
	switch {
	case bind == "" || err != nil:
		return "", err
	case len(all) > 1:
		return "", locks.Usagef("gossip parameter bind=%q is more than one address", locks.Abbreviate(bind))
	case free:
		return bind, nil
	}
	return all[0], nil
}

// setRank reads who leads.
func (s *settings) setRank(q url.Values) (err error) {
	switch rank := q.Get("rank"); rank {
	case "", "age":
	case "priority":
		s.priority = true
	default:
		return locks.Usagef("gossip parameter rank=%q is neither age nor priority", locks.Abbreviate(rank))
	}
	text := q.Get("min")
	if text == "" {
		return locks.Usagef("gossip URL: min= is missing: how many members a leader must see, itself among them; with more than half of the hosts, such as min=2 of 3, one part of a network that is cut has a leader, and with min=1 each part")
	}
	if s.least, err = strconv.Atoi(text); err != nil || s.least < 1 {
		return locks.Usagef("gossip parameter min=%q is not a number of members", locks.Abbreviate(text))
	}
	return nil
}

// parseKeys reads a file with keys.
func parseKeys(contents [][]byte) (keys [][]byte, err error) {
	for line := range bytes.Lines(contents[0]) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.AppendDecode(nil, line)
		if n := len(key); err != nil || n != 16 && n != 24 && n != 32 {
			return nil, errors.New("a line is not 16, 24 or 32 bytes in base64")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("no key")
	}
	return keys, nil
}
