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

// A password is a word, or a file that has it. The file is read for each login, as the
// password may be changed while a job runs.
type password struct {
	word string
	file *reload.Value[string] // nil: there is none
	log  *slog.Logger          // told when the file cannot be read any more; nil: nobody is

	// What the server refused. With a file there will be another word, but each refusal
	// costs the server a bcrypt hash.
	refused   string
	refusedAt time.Time
	why       error
}

// refusedFor is how long a word that was refused is not tried again. The file may have been
// written before the password was changed.
const refusedFor = 2 * time.Second

// userAndPassword takes both from the most explicit place.
func userAndPassword(u *url.URL, getenv func(string) string) (user string, p password, err error) {
	p.word = getenv("ETCDCTL_PASSWORD")
	user = getenv("ETCDCTL_USER")
	if name, word, ok := strings.Cut(user, ":"); ok && p.word == "" {
		user, p.word = name, word
	}
	if u.User != nil && u.User.Username() != user {
		user, p.word = u.User.Username(), getenv("ETCDCTL_PASSWORD") // not another user's
	}
	inURL, ok := u.User.Password()
	if ok {
		p.word = inURL
	}
	file, from := locks.Setting(u, getenv, "password-file", "LEADERRUN_ETCD_PASSWORD_FILE")
	explicit := file != "" && from == "password-file"
	switch {
	case explicit && ok:
		return "", p, locks.Usagef("the etcd URL has a password and password-file, too; omit one")
	case explicit && user == "":
		return "", p, locks.Usagef("password-file is of no use without a user, as in etcd://USER@HOST or ETCDCTL_USER")
	case user == "" && u.User != nil:
		return "", p, locks.Usagef("the etcd URL has a password and no user")
	case user == "":
		return "", p, nil // as etcdctl: a password alone means nothing
	case ok:
		file = ""
	case file != "" && !explicit && p.word != "":
		return "", p, locks.Usagef("%s is set, and so is a password (ETCDCTL_PASSWORD or ETCDCTL_USER); unset one", from)
	}
	if p.file, err = reload.Open(from, onlyWord, file); err != nil {
		return "", p, locks.Usagef("%v", err)
	}
	if p.file == nil && p.word == "" {
		return "", p, locks.Usagef("etcd user %q has no password; set ETCDCTL_PASSWORD, or give password-file=FILE", locks.Printable(user))
	}
	return user, p, nil
}

// onlyWord is what a file has, but for the end of the line.
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

// refuse notes that the server did not accept the word. It returns the error that this is:
// with a file and after a login that succeeded, one that another attempt may cure.
func (p *password) refuse(err error, before bool) error {
	if p.file == nil || !before {
		return err
	}
	p.refused, p.refusedAt, p.why = p.word, time.Now(), elsewhere(err)
	return p.why
}
