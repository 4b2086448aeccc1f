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

// users are our users, each "user:password" of the scheme digest.
//
// ZooKeeper stores no passwords: another password is another user. Changing a password
// means using both the new user and the old one until all existing nodes belong to the new
// one. So a file may have several users, one a line, and is read
// again for each session and each renewal. A session keeps all users that it has had:
// its own nodes belong to those at its beginning.
type users struct {
	one  []string
	file *reload.Value[[]string] // nil: no file
	log  *slog.Logger            // logs that the file can no longer be read
}

// newUsers returns the users from the most explicit setting.
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
		return nil, locks.Usagef("the zk URL has both a user and auth-file; omit one")
	case file != "":
		if s.file, err = reload.OpenSecret("auth-file", onlyUsers, file); err != nil {
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

// onlyUsers returns the users in a file, which may have nothing else.
func onlyUsers(contents [][]byte) ([]string, error) {
	all := strings.FieldsFunc(string(contents[0]), func(r rune) bool { return r == '\r' || r == '\n' })
	if len(all) == 0 || slices.ContainsFunc(all, func(word string) bool { return !isUser(word) }) {
		return nil, errors.New("no user:password")
	}
	return all, nil
}

// now returns the current users.
func (s *users) now() []string { return append(s.one, s.file.Now(s.log)...) }
