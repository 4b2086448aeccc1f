package helper

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// maxURL is the longest URL that is passed to a helper, in bytes.
const maxURL = 8 << 10

// defaultConnectTimeout is used if no ConnectTimeout is set.
const defaultConnectTimeout = 5 * time.Second

// open starts a helper and tells it to open the backend. It does not wait for the answer:
// Acquire reports any error.
func (p *Programs) open(path string, u *url.URL, o locks.Options) (*Lock, error) {
	if len(u.String()) > maxURL {
		return nil, &locks.UsageError{What: fmt.Sprintf("the backend URL is longer than %d bytes", maxURL)}
	}
	where := locks.Error{Op: "open", Backend: address(u), Name: o.Name}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.PID == 0 {
		o.PID = os.Getpid() // the lock is ours, not the helper's
	}
	if o.Waiting == nil {
		o.Waiting = func(locks.Waiting) {}
	}
	proc, err := p.start(path, u.Scheme)
	if err != nil {
		where.Class, where.Err = locks.ErrUnavailable, fmt.Errorf("start the helper program: %w", err)
		return nil, &where
	}
	l := &Lock{
		programs: p, scheme: u.Scheme, open: openRequest(u.String(), o, level(o.Logger)), where: where, clean: cleaner(u),
		log: o.Logger, report: o.Waiting, lost: make(chan error, 1), asked: make(chan []byte, 1),
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if err := l.launch(proc, l.newSession(proc)); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

func openRequest(url string, o locks.Options, level string) request {
	return request{
		Method:         methodOpen,
		Timeout:        o.ConnectTimeout,
		Protocol:       protocol,
		URL:            url,
		Name:           o.Name,
		Holder:         cut(o.Holder, maxText),
		TTL:            o.TTL,
		ConnectTimeout: o.ConnectTimeout,
		Version:        o.Version,
		RunID:          cut(o.RunID, maxText),
		LogLevel:       level,
		Priority:       o.Priority,
		NoResign:       o.NoResign,
		Advertise:      o.Advertise,
		PID:            o.PID,
	}
}

// address is the backend's name in messages: no user, password or parameter.
func address(u *url.URL) string {
	if u.Host == "" {
		return u.Scheme
	}
	return u.Scheme + "://" + u.Host
}

// cleaner returns a function that makes a helper's text fit to be shown: on one line, and
// without the password that the helper was given.
func cleaner(u *url.URL) func(string) string {
	password, ok := u.User.Password()
	if !ok || password == "" {
		return plain
	}
	_, escaped, _ := strings.Cut(u.User.String(), ":")
	hide := strings.NewReplacer(password, "xxxxx", escaped, "xxxxx")
	return func(s string) string { return plain(hide.Replace(s)) }
}

// level returns the lowest level that log accepts.
func level(log *slog.Logger) string {
	if log != nil {
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
			if log.Enabled(context.Background(), level) {
				return strings.ToLower(level.String())
			}
		}
	}
	return "error"
}
