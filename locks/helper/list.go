package helper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// A page may be longer than a line, because each of its locks may have a record. Locks
// that do not fit into the line of the answer precede it, in events.

// A listed is a locks.Listed on its way to the core.
type listed struct {
	Name   string       `json:"name"`
	Status locks.Status `json:"status"`
	Record *string      `json:"record,omitempty"` // nil if there is none
}

// maxPage is the limit of the locks in one line, in bytes. It leaves room for the cursor
// of the next page, and is enough for any one lock.
const maxPage = maxLine - 8<<10

// List implements locks.Lister.
func (l *Lock) List(ctx context.Context, cursor string) ([]locks.Listed, string, error) {
	p, err := l.call(ctx, request{Method: methodList, Cursor: cursor})
	return p.page, p.result.Next, err
}

// takeListed takes a part of a page that precedes the answer.
func (s *session) takeListed(m *message) error {
	p := s.find(m)
	if p == nil || p.method.name != methodList {
		return errors.New("a part of a list that was not requested")
	}
	return p.takePage(m.Page)
}

// takePage adds locks to the page, or returns an error if they are invalid.
func (p *pending) takePage(page []listed) error {
	if len(p.page)+len(page) > locks.MaxList {
		return errors.New("a page of too many locks")
	}
	for _, e := range page {
		switch {
		case locks.CheckSlotName(e.Name) != nil:
			return errors.New("an invalid lock name in a list")
		case !sane(&locks.Waiting{Status: e.Status}):
			return errors.New("an invalid status in a list")
		case e.Record != nil && len(*e.Record) > locks.MaxRecord:
			return errors.New("a record that is too long in a list")
		}
		p.page = append(p.page, locks.Listed{Name: e.Name, Status: e.Status, Record: bytesOf(e.Record)})
	}
	return nil
}

// takeList takes the last part of a page.
func (p *pending) takeList(r *result) error {
	if locks.CheckCursor(r.Next) != nil {
		return errors.New("a cursor that is too long")
	}
	return p.takePage(r.Page)
}

// answerList asks the backend, and sends locks that do not fit into the answer.
func answerList(ctx context.Context, l locks.Lister, c *call) error {
	page, next, err := l.List(ctx, c.Cursor)
	switch {
	case err != nil:
		return err
	case len(page) > locks.MaxList:
		return fmt.Errorf("a page of %d locks; at most %d are allowed", len(page), locks.MaxList)
	case locks.CheckCursor(next) != nil:
		return errors.New("the cursor of the next page is invalid")
	}
	rest := c.server.fitPage(page)
	for n := fitting(rest); n < len(rest); n = fitting(rest) {
		c.say(message{Event: eventListed, Page: rest[:n]})
		rest = rest[n:]
	}
	c.result.Page, c.result.Next = rest, next
	return nil
}

// fitPage makes each lock fit into a line. It leaves out what does not have a lock's
// name.
func (s *server) fitPage(page []locks.Listed) []listed {
	var fit []listed
	for _, e := range page {
		if err := locks.CheckSlotName(e.Name); err != nil {
			s.log.Debug("left something out of a list that is not a lock", "err", err)
			continue
		}
		fit = append(fit, listed{e.Name, fitStatus(e.Status), fitRecord(e.Record)})
	}
	return fit
}

// fitRecord makes valid text of whatever is stored as the record, which must not keep the
// other locks from being listed.
func fitRecord(record []byte) *string {
	if record == nil {
		return nil
	}
	text := strings.ToValidUTF8(string(record[:min(len(record), locks.MaxRecord)]), "?")
	return &text
}

// fitting returns how many of the locks fit into one line.
func fitting(page []listed) int {
	size := 0
	for i, e := range page {
		if size += jsonSize(e) + 1; size > maxPage {
			return i
		}
	}
	return len(page)
}
