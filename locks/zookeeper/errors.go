package zookeeper

import (
	"context"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/causes"
)

// How a term ended.
const (
	errReleased   = locks.LostError("the handle was released")
	errClosed     = locks.LostError("the handle was closed")
	errExpired    = locks.LostError("the session ended on the server")
	errNotRenewed = locks.LostError("the session was not renewed for as long as it lasts")
	errDeleted    = locks.LostError("the node was deleted")
	errReplaced   = locks.LostError("the node was replaced by someone else's")
	errNotHeld    = locks.LostError("the handle does not hold the lock")
	errOver       = locks.LostError("that term is over")
)

// fail adds what an error needs at the boundary of the backend.
func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := l.explain(err)
	e.Op, e.Backend, e.Name = op, l.addr, l.o.Name
	return e.Ended(ctx, onlyTime(err))
}

// explain finds the class of an error, a text that fits one line, and a hint.
func (l *Lock) explain(err error) *locks.Error {
	return causes.Explain(err, plain(err), known(l.settings.tls != nil), onlyTime(err), l.o.ConnectTimeout)
}

// onlyTime reports that nothing is known but that the time was up.
func onlyTime(err error) bool {
	return err == context.DeadlineExceeded || err == context.Canceled //nolint:errorlint // a wrapped one says more
}

// plain is the text of an error without what the library and package tls put
// around it, and without that the time was up.
func plain(err error) string {
	text := err.Error()
	for _, s := range []string{" (" + context.DeadlineExceeded.Error() + ")", " (" + context.Canceled.Error() + ")", "zk: ", "tls: failed to verify certificate: x509: "} {
		text = strings.ReplaceAll(text, s, "")
	}
	text = strings.ReplaceAll(text, "not authenticated", "permission denied") // whoever we are
	text, _, _ = strings.Cut(text, " (possibly because of ")
	return locks.Printable(text)
}
