package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// What the methods of this file return may be long, and others have written much of it. The
// helper makes it fit into lines, so that it loses no more than it must. The core refuses what
// does not fit.

// sane reports whether the numbers of a status are valid.
func sane(s locks.Status) bool {
	return s.PID >= 0 && min(s.TTL, s.Confirm) >= 0 && s.Waiters >= 0 && s.Start == fitStart(s.Start)
}

// fitStatus makes a status fit into a line, and into JSON, which allows no year after 9999.
func fitStatus(s locks.Status) locks.Status {
	s.Holder, s.Host, s.RunID = locks.Cut(s.Holder, maxText), locks.Cut(s.Host, maxText), locks.Cut(s.RunID, maxText)
	s.Advertise = locks.Cut(s.Advertise, locks.MaxAdvertise)
	s.Since = fitTime(s.Since)
	s.PID, s.TTL, s.Confirm, s.Waiters = max(s.PID, 0), max(s.TTL, 0), max(s.Confirm, 0), max(s.Waiters, 0)
	s.Start = fitStart(s.Start)
	return s
}

func fitStart(start string) string {
	if start == locks.StartClean || start == locks.StartTakeover {
		return start
	}
	return ""
}

func fitTime(t time.Time) time.Time {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}
	}
	return t
}

// Inspect implements locks.Inspector.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	p, err := l.ask(ctx, request{Method: methodInspect})
	return value(p.result.State), err
}

// takeState returns an error for an invalid state.
func takeState(_ *pending, r *result) error {
	st := r.State
	switch {
	case st == nil:
		return errors.New("an answer without a state")
	case !sane(st.Status):
		return errors.New("an invalid state")
	case len(st.Queue) > locks.MaxQueue:
		return errors.New("a queue with too many places")
	case len(st.Details) > locks.MaxDetails:
		return errors.New("too many details")
	}
	for _, p := range st.Queue {
		if p.Priority < -locks.MaxPriority || p.Priority > locks.MaxPriority {
			return errors.New("a priority out of range")
		}
	}
	return nil
}

func serveInspect(ctx context.Context, i locks.Inspector, c *call) error {
	st, err := i.Inspect(ctx)
	hide := c.server.secrets.hider()
	for i, d := range st.Details {
		st.Details[i] = hide(d)
	}
	c.result.State = fitState(st)
	return err
}

// fitState makes a state fit into a line: if the texts of the queue or of the details are too
// long, the last ones are left out.
func fitState(st locks.State) *locks.State {
	st.Status = fitStatus(st.Status)
	st.Queue = slices.Clone(st.Queue[:min(len(st.Queue), locks.MaxQueue)])
	for i := range st.Queue {
		p := &st.Queue[i]
		p.Holder, p.RunID = locks.Cut(p.Holder, maxPlaceText), locks.Cut(p.RunID, maxPlaceText)
		p.Since = fitTime(p.Since)
		p.Priority = min(max(p.Priority, -locks.MaxPriority), locks.MaxPriority)
	}
	st.Details = slices.Clone(st.Details[:min(len(st.Details), locks.MaxDetails)])
	for i, d := range st.Details {
		st.Details[i] = locks.Cut(d, maxPlaceText)
	}
	for jsonSize(st.Details) > maxState/4 {
		st.Details = st.Details[:len(st.Details)-1]
	}
	for len(st.Queue) > 0 && jsonSize(st) > maxState {
		st.Queue = st.Queue[:len(st.Queue)-1]
	}
	return &st
}

const (
	// maxPlaceText is the limit of a text of a place in a queue, in bytes.
	maxPlaceText = 256
	// maxState is the limit of a state, in bytes. The rest of its line is short.
	maxState = maxLine - 1<<10
)

func jsonSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // fitState has made its times valid
	}
	return len(b)
}

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
	if err := locks.CheckCursor(cursor); err != nil {
		return nil, "", err
	}
	p, err := l.ask(ctx, request{Method: methodList, Cursor: cursor})
	return p.page, p.result.Next, err
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
		case !sane(e.Status):
			return errors.New("an invalid status in a list")
		case e.Record != nil && len(*e.Record) > locks.MaxRecord:
			return errors.New("a record that is too long in a list")
		}
		p.page = append(p.page, locks.Listed{Name: e.Name, Status: e.Status, Record: bytesOf(e.Record)})
	}
	return nil
}

// takeList takes the last part of a page.
func takeList(p *pending, r *result) error {
	if locks.CheckCursor(r.Next) != nil {
		return errors.New("a cursor that is too long")
	}
	return p.takePage(r.Page)
}

// serveList asks the backend, and sends locks that do not fit into the answer.
func serveList(ctx context.Context, l locks.Lister, c *call) error {
	if err := locks.CheckCursor(c.Cursor); err != nil {
		return err
	}
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
		c.server.out.write(message{Event: eventListed, ID: c.ID, Page: rest[:n]})
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

// fitRecord makes valid text of whatever is stored as the record, which must keep nobody from
// seeing this lock, or others. If it was not valid, a last "?" keeps it from being JSON: the core
// must not take what another program has written for a record of its own.
func fitRecord(record []byte) *string {
	if record == nil {
		return nil
	}
	text := string(record)
	if locks.CheckText(record) != nil {
		text = strings.ToValidUTF8(text[:min(len(text), locks.MaxRecord-1)], "?") + "?"
	}
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

// Probe implements locks.Prober.
func (l *Lock) Probe(ctx context.Context) (locks.Servers, error) {
	p, err := l.ask(ctx, request{Method: methodProbe})
	return withTexts(value(p.result.Servers), l.clean), err
}

// takeServers returns an error for invalid servers.
func takeServers(_ *pending, r *result) error {
	all := r.Servers
	switch {
	case all == nil:
		return errors.New("an answer without servers")
	case len(all.Servers) > locks.MaxServers:
		return errors.New("too many servers")
	case len(all.Findings) > locks.MaxFindings:
		return errors.New("too many findings")
	}
	for _, s := range all.Servers {
		if s.RTT < 0 || s.RTT > maxTTL || s.Class != fitClass(s.Class) {
			return errors.New("an invalid server")
		}
	}
	for _, f := range all.Findings {
		if f.Level != fitLevel(f.Level) {
			return errors.New("a finding with an invalid level")
		}
	}
	return nil
}

func serveProbe(ctx context.Context, p locks.Prober, c *call) error {
	all, err := p.Probe(ctx)
	c.result.Servers = fitServers(withTexts(all, c.server.secrets.hider()))
	return err
}

// fitServers makes the result of a probe fit into a line. If it does not fit, its texts
// are shortened as far as needed.
func fitServers(all locks.Servers) *locks.Servers {
	all.Servers = append([]locks.Server(nil), all.Servers[:min(len(all.Servers), locks.MaxServers)]...)
	for i := range all.Servers {
		s := &all.Servers[i]
		s.Class, s.RTT = fitClass(s.Class), min(max(s.RTT, 0), maxTTL)
		s.Time, s.Ours, s.Expires = fitTime(s.Time), fitTime(s.Ours), fitTime(s.Expires)
	}
	all.Findings = append([]locks.Finding(nil), all.Findings[:min(len(all.Findings), locks.MaxFindings)]...)
	for i := range all.Findings {
		all.Findings[i].Level = fitLevel(all.Findings[i].Level)
	}
	for limit := maxText; ; limit /= 2 { // without texts, the longest allowed result fits
		fit := withTexts(all, func(s string) string { return locks.Cut(s, limit) })
		if jsonSize(fit) <= maxState {
			return &fit
		}
	}
}

// withTexts returns all with clean applied to each text, but not to the fields whose
// value is one of a few words.
func withTexts(all locks.Servers, clean func(string) string) locks.Servers {
	all.Product, all.User = clean(all.Product), clean(all.User)
	servers, findings := all.Servers, all.Findings
	all.Servers, all.Findings = nil, nil
	for _, s := range servers {
		s.Address, s.Error = clean(s.Address), clean(s.Error)
		s.Version, s.Role, s.TLS = clean(s.Version), clean(s.Role), clean(s.TLS)
		all.Servers = append(all.Servers, s)
	}
	for _, f := range findings {
		f.Check, f.Text, f.Fix = clean(f.Check), clean(f.Text), clean(f.Fix)
		all.Findings = append(all.Findings, f)
	}
	return all
}

// fitClass and fitLevel return the word to use instead of an unknown one.

func fitClass(class string) string {
	if class == "denied" || class == "unavailable" {
		return class
	}
	return ""
}

func fitLevel(level string) string {
	if level == "ok" || level == "error" {
		return level
	}
	return "warning"
}
