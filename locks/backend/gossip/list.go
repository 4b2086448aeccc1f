package gossip

import (
	"context"
	"maps"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// names returns the locks of a space to which the seat is bound, or of which it has a
// record, in their order, from the first after the given one on: as many as fit into a
// page.
func (s *seat) names(space, after string) (page []string, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	var all []string
	for lock, b := range s.locks {
		if _, left := b.voter.Bound(now); left > 0 && lock[0] == space && lock[1] > after {
			all = append(all, lock[1])
		}
	}
	for lock := range s.records {
		if lock[0] == space && lock[1] > after && !slices.Contains(all, lock[1]) {
			all = append(all, lock[1])
		}
	}
	slices.Sort(all)
	return all[:min(len(all), locks.MaxList)], len(all) > locks.MaxList
}

// List implements [locks.Lister]. A lock that is held is known to one of any majority.
//
// Without votes, it lists the locks of which this member sees a leader, but not their
// names, which members do not publish; so there is nothing to list.
func (l *Lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	if l.elder != nil {
		return nil, "", l.fail(ctx, "list", locks.Usagef("without expect=N locks cannot be listed"))
	}
	v := newView(l.settings.group)
	ask := func(name string, v *view, list bool, enough func() bool) error {
		return l.lookAt(ctx, look{Lock: name, List: list, After: cursor, Read: !list}, v, nil, enough)
	}
	if err := ask("", v, true, func() bool { return v.voted() >= v.group.Seats }); err != nil {
		return nil, "", l.fail(ctx, "list", err)
	}
	names, next := v.names()
	for _, name := range names {
		one := newView(l.settings.group)
		if err := ask(name, one, false, func() bool { _, known := one.holder(); return known && one.voted() >= one.group.Majority() }); err != nil {
			return nil, "", l.fail(ctx, "list", err)
		}
		st, _ := one.holder()
		if text := one.record(); st.Held || text != nil {
			page = append(page, locks.Listed{Name: name, Status: st, Record: text})
		}
	}
	return page, next, nil
}

// names returns a page of names, and the cursor of the next. A voter that has more than it
// has sent may know further names after its last one.
func (v *view) names() (page []string, next string) {
	all := map[string]bool{}
	for _, p := range v.answers {
		f := p.Found
		if n := len(f.Names); f.More && n > 0 && (next == "" || f.Names[n-1] < next) {
			next = f.Names[n-1]
		}
		for _, name := range f.Names {
			if locks.CheckSlotName(name) == nil {
				all[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if next != "" && name > next {
			break
		}
		if len(page) == locks.MaxList {
			return page, page[len(page)-1]
		}
		page = append(page, name)
	}
	return page, next
}

var _ locks.Lister = (*Lock)(nil)
