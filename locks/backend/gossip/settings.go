package gossip

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/gossipinfo"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/kit/durations"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// longest is the longest lease unless longest= says otherwise: the default of --ttl.
const longest = 15 * time.Second

// settings are what a URL and the environment say.
type settings struct {
	seeds    []string                // "host:port"
	bind     string                  // "host:port"; "": what the seeds say
	space    string                  // of the locks: the path of the URL
	group    votes.Group             // zero without expect=
	least    int                     // without it: how many members a leader must see
	priority bool                    // rank=priority
	keys     *reload.Value[[][]byte] // nil: nothing is encrypted
	insecure bool
	dir      string // of a voter's file; "": see stateDir
}

// parse reads the URL, and takes the seeds from the environment if it has none. All errors
// wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := gossipinfo.Info.CheckURL(u); err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, locks.Usagef("a gossip URL has no user: name a file with keys with key-file=")
	}
	q := u.Query()
	s := &settings{space: strings.Trim(u.Path, "/"), insecure: q.Get("insecure") == "true", dir: getenv("LEADERRUN_GOSSIP_DIR")}
	if s.dir != "" && !filepath.IsAbs(s.dir) {
		return nil, locks.Usagef("LEADERRUN_GOSSIP_DIR is not an absolute path")
	}
	if s.space != "" {
		if err := locks.CheckName(s.space); err != nil {
			return nil, locks.Usagef("the path of the gossip URL: %v", err)
		}
	}
	if err := s.addresses(u, getenv); err != nil {
		return nil, err
	}
	if err := s.setGroup(q); err != nil {
		return nil, err
	}
	var err error
	if s.keys, err = reload.OpenSecret("gossip parameter key-file", parseKeys, q.Get("key-file")); err != nil {
		return nil, locks.Usagef("%v", err)
	}
	if word := cmp.Or(q.Get("insecure"), "false"); word != "true" && word != "false" {
		return nil, locks.Usagef("gossip parameter insecure=%q is neither true nor false", locks.Abbreviate(word))
	}
	return s, nil
}

func (s *settings) addresses(u *url.URL, getenv func(string) string) (err error) {
	list, from := u.Host, "the gossip URL"
	if list == "" {
		list, from = getenv("LEADERRUN_GOSSIP_SEEDS"), "LEADERRUN_GOSSIP_SEEDS"
	}
	if list == "" {
		return locks.Usagef("no member is named; write %s, or set LEADERRUN_GOSSIP_SEEDS", gossipinfo.Info.URL)
	}
	if s.seeds, err = hosts.Parse(list, from, gossipinfo.Info.Port); err != nil {
		return err
	}
	bind := u.Query().Get("bind")
	if host, ok := strings.CutSuffix(bind, ":0"); ok && host != "" { // not the port of a server
		_, err = hosts.Parse(host, "gossip parameter bind", gossipinfo.Info.Port)
		s.bind = bind
		return err
	}
	if bind == "" {
		return nil
	}
	all, err := hosts.Parse(bind, "gossip parameter bind", gossipinfo.Info.Port)
	if err == nil && len(all) > 1 {
		return locks.Usagef("gossip parameter bind=%q is more than one address", locks.Abbreviate(bind))
	}
	if err == nil {
		s.bind = all[0]
	}
	return err
}

func (s *settings) setGroup(q url.Values) (err error) {
	if q.Get("expect") == "" {
		return s.setRank(q)
	}
	if q.Get("min") != "" || q.Get("rank") != "" {
		return locks.Usagef("gossip URL: min= and rank= are for locks without expect=")
	}
	s.group.Longest = longest
	if text := q.Get("longest"); text != "" {
		var ok bool
		if s.group.Longest, ok = durations.Parse(text); !ok {
			return locks.Usagef("gossip parameter longest=%q is not a duration like 15s", locks.Abbreviate(text))
		}
	}
	text := q.Get("expect")
	if s.group.Seats, err = strconv.Atoi(text); err != nil {
		return locks.Usagef("gossip parameter expect=%q is not a number", locks.Abbreviate(text))
	}
	if err := s.group.Check(); err != nil {
		return locks.Usagef("gossip URL: %v", err)
	}
	if n := len(s.seeds); n > s.group.Seats { // each is a seat
		return locks.Usagef("gossip URL: it has %d hosts, and so more voters than expect=%d", n, s.group.Seats)
	}
	return nil
}

// setRank reads the parameters for a lock without votes.
func (s *settings) setRank(q url.Values) (err error) {
	if q.Get("longest") != "" {
		return locks.Usagef("gossip URL: longest= is for locks with expect=")
	}
	switch rank := q.Get("rank"); rank {
	case "", "age":
	case "priority":
		s.priority = true
	default:
		return locks.Usagef("gossip parameter rank=%q is neither age nor priority", locks.Abbreviate(rank))
	}
	s.least = 1
	if text := q.Get("min"); text != "" {
		if s.least, err = strconv.Atoi(text); err != nil || s.least < 1 {
			return locks.Usagef("gossip parameter min=%q is not a number of members", locks.Abbreviate(text))
		}
	}
	return nil
}

// voting reports whether a lease needs votes.
func (s *settings) voting() bool { return s.group.Seats > 0 }

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
