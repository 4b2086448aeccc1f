package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// WatchRequests implements [queue.Entry]. Its watch ends with each connection, and so with each
// renewal, and is begun anew. Who may not read the node goes on trying.
func (e *entry) WatchRequests(ctx context.Context, in *queue.Inbox) error {
	if err := e.listen(ctx, in); err == nil {
		in.Pause.Reset()
	} else {
		e.complain(ctx, err)
	}
	return nil
}

// listen takes the request that there is, and waits for a change.
func (e *entry) listen(ctx context.Context, in *queue.Inbox) error {
	w, err := e.s.watchNode(ctx, e.askPath())
	if err != nil {
		return err
	}
	if w.there {
		if err := e.readAsked(ctx, in); err != nil {
			if !denied(err) {
				return err
			}
			e.complain(ctx, err)
		}
	}
	select {
	case <-w.events:
	case <-ctx.Done():
	}
	return nil
}

// readAsked delivers the request that there is, if it is for us, and deletes it if it
// is for nobody else.
func (e *entry) readAsked(ctx context.Context, in *queue.Inbox) error {
	n, err := e.s.find(ctx, e.askPath())
	if err != nil || n == nil {
		return err
	}
	r := queue.ReadRequest(n.data)
	if r != nil && r.Token > in.Token {
		return nil // our successor's
	}
	in.Deliver(r)
	return e.s.removeVersion(ctx, n)
}

func (e *entry) complain(ctx context.Context, err error) {
	if denied(err) && !e.mute {
		e.mute = true
		e.log.InfoContext(ctx, "cannot read requests to the holder", "err", err)
		return
	}
	e.log.DebugContext(ctx, "cannot read requests to the holder", "err", err)
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
