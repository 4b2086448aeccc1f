package gcs

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"github.com/leaderrun/leaderrun/locks"
)

// maxListing is the most that is read of a page. An object has up to 8 KiB of
// metadata, of which some bytes become six in JSON.
const maxListing = locks.MaxList * 64 << 10

// List implements [locks.Lister] by one request for each page. The cursor is the
// service's.
func (l *Lock) List(ctx context.Context, cursor string) ([]locks.Listed, string, error) {
	bounded, done := l.untilClosed(ctx)
	defer done()
	bounded, cancel := context.WithTimeout(bounded, l.o.ConnectTimeout)
	defer cancel()
	for pause := newBackoff(); ; {
		page, next, err := l.listOnce(bounded, cursor)
		switch {
		case err == nil:
			return page, next, nil
		case !transient(err), isA[*locks.UsageError](err), unreachable(err), pause.Wait(bounded) != nil:
			return nil, "", l.fail(ctx, "list the locks beside", err)
		}
	}
}

func (l *Lock) listOnce(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	prefix := l.c.s.prefix + "/"
	views, next, err := l.c.list(ctx, prefix, cursor)
	if err != nil {
		return nil, "", err
	}
	if locks.CheckCursor(next) != nil { // it has the name of an object
		return nil, "", &locks.UsageError{What: "the prefix of the objects is too long to list them"}
	}
	for _, v := range views {
		if name, ok := nameOf(strings.TrimPrefix(v.name, prefix)); ok && l.isLock(v) {
			page = append(page, locks.Listed{Name: name, Status: v.present(), Record: l.recordIn(v)})
		}
	}
	return page, next, nil
}

// nameOf is the name of the lock whose object has this one, after the prefix. The
// objects with requests to holders are none: "~" is in no name.
func nameOf(object string) (string, bool) {
	name, err := url.PathUnescape(object)
	return name, err == nil && locks.CheckSlotName(name) == nil && locks.EscapeName(name) == object
}

// isLock reports whether the object is a lock. One that has our mark and makes no
// sense keeps a lock from being had, so that is told.
func (l *Lock) isLock(v *view) bool {
	if _, marked := v.metadata[metadataKey]; v.foreign != nil && marked {
		l.log.Warn("an object that is no lock is left out", "object", locks.Printable(v.name), "err", v.foreign)
	}
	return v.foreign == nil
}

// recordIn is what a Recorder keeps.
func (l *Lock) recordIn(v *view) []byte {
	value, ok := v.metadata[keptKey]
	if !ok {
		return nil
	}
	text, ok := decode(value)
	if !ok {
		l.log.Warn("a record cannot be read", "object", locks.Printable(v.name))
		return nil
	}
	return text
}

// list returns a page of the objects with a prefix, but not of those that have a
// slash after it.
func (c *service) list(ctx context.Context, prefix, cursor string) (views []*view, next string, err error) {
	b, err := c.bucket(ctx)
	if err != nil {
		return nil, "", err
	}
	ctx, note := noting(ctx)
	note.limit = maxListing
	it := b.Objects(ctx, &storage.Query{Prefix: prefix, Delimiter: "/", Projection: storage.ProjectionNoACL})
	it.PageInfo().MaxSize, it.PageInfo().Token = locks.MaxList, cursor
	for {
		a, err := it.Next()
		switch {
		case errors.Is(err, iterator.Done):
			return views, "", nil
		case err != nil:
			return nil, "", err
		}
		if a.Prefix == "" {
			v := newView(a)
			v.name, v.date = a.Name, note.date
			views = append(views, v)
		}
		if it.PageInfo().Remaining() == 0 { // to ask for another would be another request
			return views, it.PageInfo().Token, nil
		}
	}
}

var _ locks.Lister = (*Lock)(nil)
