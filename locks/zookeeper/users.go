package zookeeper

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
)

// users are those that we are, each "user:password" of the scheme digest.
//
// ZooKeeper keeps no passwords: another password is another user. To change one
// means to make the new user known as well as the old, until all nodes that are
// there belong to the new one. So a file may have several, one a line, and is read
// anew for each session and each renewal. A session is all users that it has been:
// its own nodes belong to those of its beginning.
type users struct {
	file string       // "": they do not change
	log  *slog.Logger // told once when the file cannot be read any more

	mu      sync.Mutex
	known   []string // as last read
	trouble string   // why the file could not be read the last time
}

// newUsers takes them from the most explicit place.
func newUsers(u *url.URL, getenv func(string) string) (*users, error) {
	s := &users{file: u.Query().Get("auth-file"), log: slog.New(slog.DiscardHandler)}
	word, from := getenv("ZK_AUTH"), "ZK_AUTH"
	switch {
	case s.file != "" && u.User != nil:
		return nil, usage("the zk URL has a user and auth-file, too")
	case s.file != "":
		if err := s.read(); err != nil {
			return nil, usage("%v", err)
		}
		return s, nil
	case u.User != nil:
		password, _ := u.User.Password()
		word, from = u.User.Username()+":"+password, "the zk URL"
	}
	if word == "" {
		return s, nil
	}
	if !isUser(word) {
		return nil, usage("%s has no user:password", from)
	}
	s.known = []string{word}
	return s, nil
}

func isUser(word string) bool {
	user, password, _ := strings.Cut(word, ":")
	return user != "" && password != ""
}

// now returns the users that the file has now or, if it cannot be used, had before.
func (s *users) now() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == "" {
		return s.known
	}
	trouble := ""
	if err := s.read(); err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != s.trouble {
		s.log.Warn("cannot read the user anew; going on with the one that was read before", "err", trouble)
	}
	s.trouble = trouble
	return s.known
}

// read keeps what is known if the file has anything but users.
func (s *users) read() error {
	b, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("auth-file: %w", err)
	}
	all := strings.FieldsFunc(string(b), func(r rune) bool { return r == '\r' || r == '\n' })
	for _, word := range all {
		if !isUser(word) {
			all = nil
			break
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("auth-file %s has no user:password", s.file)
	}
	s.known = all
	return nil
}
