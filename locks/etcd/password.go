package etcd

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A password is a word, or a file that has it. The file is read for each login, as the
// password may be changed while a job runs.
type password struct {
	word string
	file string       // "": there is none
	from string       // what names the file
	log  *slog.Logger // told when the file cannot be read any more; nil: nobody is
	told bool

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
	p.file, p.from = setting(u, getenv, "password-file", "LEADERRUN_ETCD_PASSWORD_FILE")
	explicit := p.file != "" && p.from == "password-file"
	switch {
	case explicit && ok:
		return "", p, usage("the etcd URL has a password and password-file, too; omit one")
	case explicit && user == "":
		return "", p, usage("password-file is of no use without a user, as in etcd://USER@HOST or ETCDCTL_USER")
	case user == "" && u.User != nil:
		return "", p, usage("the etcd URL has a password and no user")
	case user == "":
		return "", p, nil // as etcdctl: a password alone means nothing
	case ok:
		p.file = ""
	case p.file != "" && !explicit && p.word != "":
		return "", p, usage("%s is set, and so is a password (ETCDCTL_PASSWORD or ETCDCTL_USER); unset one", p.from)
	}
	if p.file != "" {
		if err := p.read(); err != nil {
			return "", p, usage("%v", err)
		}
	}
	if p.word == "" {
		return "", p, usage("etcd user %q has no password; set ETCDCTL_PASSWORD, or give password-file=FILE", locks.Printable(user))
	}
	return user, p, nil
}

// read reads the file. The word is what it has, but for the end of the line.
func (p *password) read() error {
	b, err := os.ReadFile(p.file)
	if err != nil {
		return fmt.Errorf("%s: %w", p.from, err)
	}
	word := strings.TrimRight(string(b), "\r\n")
	if word == "" {
		return fmt.Errorf("%s: no password in %s", p.from, p.file)
	}
	p.word = word
	return nil
}

// next returns the word for a login. While the file cannot be read, or is just being
// written, it is the one that was read before.
func (p *password) next() (string, error) {
	if p.file == "" {
		return p.word, nil
	}
	err := p.read()
	if err != nil && !p.told && p.log != nil {
		p.log.Warn("cannot read the password anew; trying the one that was read before", "err", err.Error())
	}
	p.told = err != nil
	if p.word == p.refused && time.Since(p.refusedAt) < refusedFor {
		return "", p.why
	}
	return p.word, nil
}

// refuse notes that the server did not accept the word. It returns the error that this is:
// with a file and after a login that succeeded, one that another attempt may cure.
func (p *password) refuse(err error, before bool) error {
	if p.file == "" || !before {
		return err
	}
	p.refused, p.refusedAt, p.why = p.word, time.Now(), elsewhere(err)
	return p.why
}
