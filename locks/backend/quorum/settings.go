package quorum

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/voter"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
	"github.com/leaderrun/leaderrun/locks/kit/durations"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// The longest lease, unless the URL says otherwise, and what it may say.
const (
	defaultLongest = 15 * time.Second
	maxLongest     = time.Minute
)

// settings are what a URL and the environment say.
type settings struct {
	names []string // of all seats, "host:port", sorted
	space string   // of the locks: the path of the URL
	group votes.Group
	keys  *reload.Value[[][]byte] // nil: anybody on this machine may take part
	file  string                  // that has them
}

// parse reads the URL, and takes the hosts from the environment if it has none. All errors wrap
// locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.Quorum.CheckURL(u); err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, locks.Usagef("a quorum URL has no user: name a file with keys with key-file=")
	}
	q := u.Query()
	s := &settings{space: strings.Trim(u.Path, "/")}
	if s.space != "" {
		if err := locks.CheckName(s.space); err != nil {
			return nil, locks.Usagef("the path of the quorum URL: %v", err)
		}
	}
	if err := s.seats(u.Host, getenv); err != nil {
		return nil, err
	}
	longest := defaultLongest
	if text := q.Get("longest"); text != "" {
		var ok bool
		if longest, ok = durations.Parse(text); !ok || longest <= 0 || longest > maxLongest {
			return nil, locks.Usagef("quorum parameter longest=%q is not a duration like 15s, of at most %v", locks.Abbreviate(text), maxLongest)
		}
	}
	s.group = voter.Group(s.names, longest)
	var err error
	s.file = q.Get("key-file")
	s.keys, err = reload.OpenSecret("quorum parameter key-file", func(files [][]byte) ([][]byte, error) { return wire.Keys(files[0]) }, s.file)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	if s.keys == nil && slices.ContainsFunc(s.names, func(name string) bool { return !loopback(name) }) {
		return nil, locks.Usagef("anybody could vote and lead: name a file with a secret key, the same on all hosts, with key-file=")
	}
	return s, nil
}

// seats takes the hosts. Which they are must not depend on how they are written.
func (s *settings) seats(list string, getenv func(string) string) (err error) {
	from := "the quorum URL"
	if list == "" {
		list, from = getenv("LEADERRUN_QUORUM_HOSTS"), "LEADERRUN_QUORUM_HOSTS"
	}
	if list == "" {
		return locks.Usagef("no host is named; write %s, or set LEADERRUN_QUORUM_HOSTS", known.Quorum.URL)
	}
	list = strings.ToLower(list)
	if s.names, err = hosts.Parse(list, from, known.Quorum.Port); err != nil {
		return err
	}
	ports := 0
	for item := range strings.SplitSeq(list, ",") {
		if _, _, err := net.SplitHostPort(strings.TrimSpace(item)); err == nil {
			ports++
		}
	}
	if ports != 0 && ports != len(s.names) {
		return locks.Usagef("%s: some hosts have a port and some have none; write the port behind each of them", from)
	}
	slices.Sort(s.names)
	if n := len(slices.Compact(slices.Clone(s.names))); n != len(s.names) {
		return locks.Usagef("%s names a host twice", from)
	}
	if n := len(s.names); n < 2 || n > votes.MaxSeats {
		return locks.Usagef("%s names %d hosts; 2 to %d can vote, best an odd number of them", from, n, votes.MaxSeats)
	}
	return nil
}

// loopback reports whether a host is only reached from this machine.
func loopback(name string) bool {
	host, _, _ := net.SplitHostPort(name)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// secrets returns the keys as they are now.
func (s *settings) secrets() [][]byte { return s.keys.Now(nil) }
