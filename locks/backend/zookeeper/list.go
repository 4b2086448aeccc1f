package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// maxConcurrent is how many locks of a page, or nodes of a queue, are read concurrently.
const maxConcurrent = 16

// List implements [queue.Store]. The pages are in the order of the names, and a
// cursor is the last name of a page. So new and deleted locks move no other lock to another
// page.
func (l *lock) List(ctx context.Context, cursor string) ([]locks.Listed, string, error) {
	p, err := withTempSession(ctx, l, func(ctx context.Context, s *session) (page, error) { return l.list(ctx, s, cursor) })
	return p.locks, p.next, err
}

// A page is a page of the list.
type page struct {
	locks []locks.Listed
	next  string
}

func (l *lock) list(ctx context.Context, s *session, cursor string) (p page, err error) {
	if err := s.readBarrier(ctx, l.settings.chroot); err != nil {
		return p, err
	}
	nodes, err := s.children(ctx, l.settings.chroot)
	if errors.Is(err, zk.ErrNoNode) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	names := lockNames(nodes, cursor)
	if len(names) > locks.MaxList {
		names = names[:locks.MaxList]
		p.next = names[len(names)-1]
	}
	p.locks, err = l.look(ctx, s, names)
	return p, err
}

// lockNames returns the names of the locks that the nodes belong to, in order, from the
// first after the cursor. The nodes of records also count, because the node of a queue
// disappears when the queue has been empty for a while.
func lockNames(nodes []string, cursor string) (names []string) {
	for _, node := range nodes {
		name, ok := lockName(strings.TrimSuffix(node, recordSuffix))
		if ok && name > cursor {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lockName is the inverse of locks.EscapeName. Other spellings of a name do no
// harm, because only the node with EscapeName's spelling is read.
func lockName(node string) (name string, ok bool) {
	name, err := url.PathUnescape(node)
	return name, err == nil && locks.CheckSlotName(name) == nil
}

// look returns the locks with these names, except those without a holder and a record.
func (l *lock) look(ctx context.Context, s *session, names []string) (listed []locks.Listed, err error) {
	all, errs := make([]locks.Listed, len(names)), make([]error, len(names))
	concurrently(len(names), func(i int) { all[i], errs[i] = l.lookAt(ctx, s, names[i]) })
	for i, one := range all {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if one.Status.Held || one.Record != nil {
			listed = append(listed, one)
		}
	}
	return listed, nil
}

// concurrently calls f with each number below n, up to maxConcurrent of them at a time.
func concurrently(n int, f func(i int)) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, maxConcurrent)
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			f(i)
		})
	}
	wg.Wait()
}

func (l *lock) lookAt(ctx context.Context, s *session, name string) (locks.Listed, error) {
	path := l.path(name)
	head, rest, err := s.line(ctx, path)
	if errors.Is(err, locks.ErrUsage) {
		l.log.WarnContext(ctx, "left out of the list", "err", err)
		return locks.Listed{}, nil
	}
	if err != nil {
		return locks.Listed{}, err
	}
	kept, err := s.find(ctx, path+recordSuffix)
	return locks.Listed{Name: name, Status: lineOf(head, len(rest)).Status(), Record: queue.Clip(recordText(kept))}, err
}
