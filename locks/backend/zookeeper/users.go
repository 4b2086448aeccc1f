package zookeeper

import (
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// users are those that we are, each "user:password" of the scheme digest.
//
// ZooKeeper keeps no passwords: another password is another user. To change one
// means to make the new user known as well as the old, until all nodes that are
// there belong to the new one. So a file may have several, one a line, and is read
// anew for each session and each renewal. A session is all users that it has been:
// its own nodes belong to those of its beginning.
type users struct {
	one  []string
	file *reload.Value[[]string] // nil: there is none
	log  *slog.Logger            // told when the file cannot be read any more
}

// newUsers takes them from the most explicit place.
func newUsers(u *url.URL, getenv func(string) string) (*users, error) {
	file, word, from := u.Query().Get("auth-file"), getenv("ZK_AUTH"), "ZK_AUTH"
	if u.User != nil {
		password, _ := u.User.Password()
		word, from = u.User.Username()+":"+password, "the zk URL"
	}
	var s users
	var err error
	switch {
	case file != "" && u.User != nil:
		return nil, locks.Usagef("the zk URL has a user and auth-file, too")
	case file != "":
		if s.file, err = reload.Open("auth-file", onlyUsers, file); err != nil {
			return nil, locks.Usagef("%v", err)
		}
	case word != "" && !isUser(word):
		return nil, locks.Usagef("%s has no user:password", from)
	case word != "":
		s.one = []string{word}
	}
	return &s, nil
}

func isUser(word string) bool {
	user, password, _ := strings.Cut(word, ":")
	return user != "" && password != ""
}

// onlyUsers is what a file has, if that is nothing but users.
func onlyUsers(contents [][]byte) ([]string, error) {
	all := strings.FieldsFunc(string(contents[0]), func(r rune) bool { return r == '\r' || r == '\n' })
	if len(all) == 0 || slices.ContainsFunc(all, func(word string) bool { return !isUser(word) }) {
		return nil, errors.New("no user:password")
	}
	return all, nil
}

// now returns those that we are now.
func (s *users) now() []string { return append(s.one, s.file.Now(s.log)...) }
