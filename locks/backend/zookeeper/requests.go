package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A request to the holder is a persistent node next to the lock's, like the record, so the
// sender need not stay. The holder deletes the node when it has read it, and a later
// holder deletes what an earlier one has left.
func (l *lock) askPath() string { return l.node + "%ask" }

// Ask implements [queue.Store].
func (l *lock) Ask(ctx context.Context, token uint64, request []byte) error {
	return l.edit(ctx, func(ctx context.Context, s *session) error { return l.ask(ctx, s, token, request) })
}

// ask writes a request if the node with that token leads. If another's node has the same
// path by then, its holder finds that the request is for an earlier term.
func (l *lock) ask(ctx context.Context, s *session, token uint64, request []byte) error {
	head, _, err := l.line(ctx, s)
	if err != nil || head == nil || head.token() != token {
		return err
	}
	old, err := s.find(ctx, l.askPath())
	if err != nil {
		return err
	}
	_, err = s.transact(ctx, &zk.CheckVersionRequest{Path: head.path, Version: -1}, s.put(l.askPath(), old, request))
	if errors.Is(asLoss(err), errDeleted) {
		return nil // the holder has released the lock
	}
	return err
}

// WatchRequests implements [queue.Entry]. Its watch ends with each connection, and so with
// each renewal, and starts again. If we may not read the node, it keeps trying.
func (e *entry) WatchRequests(ctx context.Context, in *queue.Inbox) error {
	if err := e.listen(ctx, in); err == nil {
		in.Pause.Reset()
	} else {
		e.logUnreadable(ctx, err)
	}
	return nil
}

// listen delivers the current request, if there is one, and waits for a change.
func (e *entry) listen(ctx context.Context, in *queue.Inbox) error {
	w, err := e.s.watchNode(ctx, e.lock.askPath())
	if err != nil {
		return err
	}
	if w.exists {
		if err := e.readAsked(ctx, in); err != nil {
			if !denied(err) {
				return err
			}
			e.logUnreadable(ctx, err)
		}
	}
	select {
	case <-w.events:
	case <-ctx.Done():
	}
	return nil
}

// readAsked delivers the current request, if it is for us, and deletes it, unless it is for
// a later holder.
func (e *entry) readAsked(ctx context.Context, in *queue.Inbox) error {
	n, err := e.s.find(ctx, e.lock.askPath())
	if err != nil || n == nil {
		return err
	}
	if in.Deliver(n.data) {
		return nil
	}
	return e.s.removeVersion(ctx, n)
}

func (e *entry) logUnreadable(ctx context.Context, err error) {
	if denied(err) && !e.loggedDenied {
		e.loggedDenied = true
		e.lock.log.InfoContext(ctx, "cannot read requests to the holder", "err", err)
		return
	}
	e.lock.log.DebugContext(ctx, "cannot read requests to the holder", "err", err)
}

func denied(err error) bool { return errors.Is(err, zk.ErrNoAuth) }

// watchNode watches for a node to be created, written or deleted.
func (s *session) watchNode(ctx context.Context, path string) (*nodeWatch, error) {
	s.noteWatch(path, zk.EventNodeDataChanged)
	w, err := ask(ctx, s, func(c *zk.Conn) (*nodeWatch, error) {
		exists, _, events, err := c.ExistsW(path)
		return &nodeWatch{exists, events}, err
	})
	return w, at(path, err)
}

// A nodeWatch has one event, and whether the node existed before it.
type nodeWatch struct {
	exists bool
	events <-chan zk.Event
}

// removeVersion deletes a node if it is as it was when it was read. It tries only once: if
// only the answer was lost, a second attempt could delete a new node, which has the same
// version, unread.
func (s *session) removeVersion(ctx context.Context, n *node) error {
	_, err := once(ctx, s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(n.path, n.stat.Version) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return nil
	}
	return at(n.path, err)
}
