package etcd

import (
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// A password is a word, or a file that has it. The file is read for each login, because
// the password may change while a job runs.
type password struct {
	word string
	file *reload.Value[string] // nil: no file
	log  *slog.Logger          // logs that the file can no longer be read; nil: nothing does

	// The word that the server refused last. The file will have another word, but each
	// refusal costs the server a bcrypt hash.
	refused   string
	refusedAt time.Time
	why       error
}

// refusedFor is how long a refused word is not tried again. After it, the server may accept
// the word: the file may have been written before the password was changed.
const refusedFor = 2 * time.Second

// userAndPassword returns the user and the password from the most explicit setting.
func userAndPassword(u *url.URL, getenv func(string) string) (user string, p password, err error) {
	p.word = getenv("ETCDCTL_PASSWORD")
	user = getenv("ETCDCTL_USER")
	if name, word, ok := strings.Cut(user, ":"); ok && p.word == "" {
		user, p.word = name, word
	}
	if u.User != nil && u.User.Username() != user {
		user, p.word = u.User.Username(), getenv("ETCDCTL_PASSWORD") // the other password is another user's
	}
	inURL, ok := u.User.Password()
	if ok {
		p.word = inURL
	}
	file, from := locks.Setting(u, getenv, "password-file", "LEADERRUN_ETCD_PASSWORD_FILE")
	explicit := file != "" && from == "password-file"
	switch {
	case explicit && ok:
		return "", p, locks.Usagef("the etcd URL has both a password and password-file; omit one")
	case explicit && user == "":
		return "", p, locks.Usagef("password-file needs a user, as in etcd://USER@HOST or ETCDCTL_USER")
	case user == "" && u.User != nil:
		return "", p, locks.Usagef("the etcd URL has a password but no user")
	case user == "":
		return "", p, nil // as in etcdctl, a password without a user is ignored
	case ok:
		file = ""
	case file != "" && !explicit && p.word != "":
		return "", p, locks.Usagef("both %s and a password (ETCDCTL_PASSWORD or ETCDCTL_USER) are set; unset one", from)
	}
	if p.file, err = reload.OpenSecret(from, onlyWord, file); err != nil {
		return "", p, locks.Usagef("%v", err)
	}
	if p.file == nil && p.word == "" {
		return "", p, locks.Usagef("etcd user %q has no password; set ETCDCTL_PASSWORD, or give password-file=FILE", locks.Printable(user))
	}
	return user, p, nil
}

// onlyWord returns the contents of a file without the end of the line.
func onlyWord(contents [][]byte) (string, error) {
	word := strings.TrimRight(string(contents[0]), "\r\n")
	if word == "" {
		return "", errors.New("no password")
	}
	return word, nil
}

// next returns the word for a login.
func (p *password) next() (string, error) {
	if p.file == nil {
		return p.word, nil
	}
	p.word = p.file.Now(p.log)
	if p.word == p.refused && time.Since(p.refusedAt) < refusedFor {
		return "", p.why
	}
	return p.word, nil
}

// refuse notes that the server refused the word, and returns the error for the caller. With
// a file and after an earlier login, another attempt may succeed.
func (p *password) refuse(err error, before bool) error {
	if p.file == nil || !before {
		return err
	}
	p.refused, p.refusedAt, p.why = p.word, time.Now(), retryElsewhere(err)
	return p.why
}
