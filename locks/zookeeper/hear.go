package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/backoff"
	"github.com/leaderrun/leaderrun/locks/record"
)

// A listener hears what the holder is asked.
type listener struct {
	*entry
	known int64  // the transaction that wrote the last request we know
	last  string // the nonce of the last that was delivered
	mute  bool   // that it cannot hear was told
}

// hear delivers requests until the term is over, beginning after a delay. Its
// watch ends with each connection, and so with each renewal, and is begun anew.
//
// Who may not read the node hears nothing, and holds the lock as ever.
func (e *entry) hear() {
	l := &listener{entry: e}
	e.spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, lazily) != nil {
			return
		}
		for pause := new(backoff.Backoff); ; {
			if err := l.listen(ctx); err == nil {
				pause.Reset()
			} else {
				l.complain(ctx, err)
			}
			if pause.Wait(ctx) != nil {
				return
			}
		}
	})
}

// listen takes the request that there is, and waits for a change.
func (l *listener) listen(ctx context.Context) error {
	w, err := l.s.watchNode(ctx, l.askPath())
	if err != nil {
		return err
	}
	if w.there {
		if err := l.read(ctx); err != nil {
			if !denied(err) {
				return err
			}
			l.complain(ctx, err)
		}
	}
	select {
	case <-w.events:
	case <-ctx.Done():
	}
	return nil
}

// read delivers the request that there is, if it is for us, and deletes it if it
// is for nobody else.
func (l *listener) read(ctx context.Context) error {
	n, err := l.s.find(ctx, l.askPath())
	if err != nil || n == nil {
		return err
	}
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	r := record.ReadRequest(n.data)
	if r != nil && r.Token > token {
		return nil // our successor's
	}
	if r != nil && r.Token == token && n.stat.Mzxid > l.known {
		l.deliver(r)
	}
	l.known = max(l.known, n.stat.Mzxid)
	return l.s.removeVersion(ctx, n)
}

// deliver hands on a request, unless it was written twice.
func (l *listener) deliver(r *record.Request) {
	if r.Nonce == l.last {
		return
	}
	l.last = r.Nonce
	select { // only the latest matters, and only we send
	case <-l.asked:
	default:
	}
	l.asked <- []byte(r.Text)
}

func (l *listener) complain(ctx context.Context, err error) {
	if denied(err) && !l.mute {
		l.mute = true
		l.log.InfoContext(ctx, "cannot read requests to the holder", "err", err)
		return
	}
	l.log.DebugContext(ctx, "cannot read requests to the holder", "err", err)
}

func denied(err error) bool { return errors.Is(err, zk.ErrNoAuth) }

// watchNode watches for a node to be made, written or deleted.
func (s *session) watchNode(ctx context.Context, path string) (*nodeWatch, error) {
	s.watches(path, zk.EventNodeDataChanged)
	w, err := ask(ctx, s, func(c *zk.Conn) (*nodeWatch, error) {
		there, _, events, err := c.ExistsW(path)
		return &nodeWatch{there, events}, err
	})
	return w, at(path, err)
}

// A nodeWatch has one event, and tells whether the node was there before that.
type nodeWatch struct {
	there  bool
	events <-chan zk.Event
}

// removeVersion deletes a node that is as it was when it was read. It tries but
// once: should only the answer be lost, a node that was made anew would have the
// same version, and be deleted unread.
func (s *session) removeVersion(ctx context.Context, n *node) error {
	_, err := once(ctx, s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(n.path, n.stat.Version) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return nil
	}
	return at(n.path, err)
}
