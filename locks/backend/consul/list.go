package consul

import (
	"context"
	"errors"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// List implements [queue.Store]. The pages are in the order of the names, and a cursor is
// the last name of a page.
func (l *lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		var keys []string
		if _, err := l.client.get(ctx, "/v1/kv/"+l.client.settings.folder(), 0, 0, &keys); err != nil {
			return err
		}
		names := l.client.settings.names(keys, cursor)
		next = ""
		if len(names) > locks.MaxList {
			names = names[:locks.MaxList]
			next = names[len(names)-1]
		}
		page, err = l.look(ctx, names)
		return err
	})
	return page, next, err
}

// names returns the names of the locks that have a key among those given, in order, from
// the first after the cursor on.
func (s *settings) names(keys []string, cursor string) (names []string) {
	for _, key := range keys {
		if name := s.name(key); name > cursor {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// look reports the locks with these names, except those that nobody holds and that have no
// record.
func (l *lock) look(ctx context.Context, names []string) (listed []locks.Listed, err error) {
	c := l.client
	var ops []op
	for _, name := range names {
		ops = append(ops, op{Verb: "get-or-empty", Key: c.settings.key(name)}, op{Verb: "get-or-empty", Key: c.settings.under(name) + recordSuffix})
	}
	if len(ops) == 0 {
		return nil, nil
	}
	all, err := c.transactUpTo(ctx, maxLook, ops)
	if half := len(names) / 2; errors.Is(err, errTooLong) && half > 0 { // somebody has written long values
		listed, err := l.look(ctx, names[:half])
		if err != nil {
			return nil, err
		}
		rest, err := l.look(ctx, names[half:])
		return append(listed, rest...), err
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		one := locks.Listed{Name: name}
		for _, p := range all { // without those that we may not read
			switch {
			case p.Key == c.settings.key(name):
				one.Status = l.line(name, p).Status()
			case p.Key == c.settings.under(name)+recordSuffix && p.ModifyIndex != 0:
				one.Record = queue.Clip(p.text())
			}
		}
		if one.Status.Held || one.Record != nil {
			listed = append(listed, one)
		}
	}
	return listed, nil
}
