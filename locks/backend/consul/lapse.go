package consul

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A lapse is a key whose session has ended without a release: nobody has it locked, and it still has
// the label of its last holder, who may not know for as long as its lease. Lock delays are kept in
// the servers' memory, and one can end a later one of the same key: see doc.go. So whoever wants the
// key waits as well, from the first answer that shows it so.
type lapse struct {
	index uint64        // of the key
	seen  clock.Instant // first, by this handle
}

// maxTTL is the longest ttl of a session that Consul grants.
const maxTTL = 24 * time.Hour

// lapsed reports whether a key is that of a lapse. A release deletes the key; one that `consul lock`
// has released does not have our label.
func (l *lock) lapsed(p *pair) bool {
	return p != nil && !p.held() && p.Flags == l.client.settings.flags() && queue.IsLabel(p.Value)
}

// left returns how long the last holder of the lock with this name, whose key has just been read,
// may trust its lease although nobody has the key locked.
func (l *lock) left(name string, p *pair) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lapsed(p) {
		delete(l.lapses, name)
		return 0
	}
	now := clock.Boot{}.Now()
	at, ok := l.lapses[name]
	if !ok || at.index != p.ModifyIndex {
		at = lapse{p.ModifyIndex, now}
		l.lapses[name] = at
	}
	lease := min(queue.Line{Head: &queue.Head{Label: p.Value}}.Status().TTL, maxTTL)
	return max(lease-now.Sub(at.seen), 0)
}

// line returns who has locked the key, or, after a lapse, who had.
func (l *lock) line(name string, p *pair) queue.Line {
	left := l.left(name, p)
	switch {
	case p.held():
		return queue.Line{Head: &queue.Head{Token: p.ModifyIndex, Label: p.Value}}
	case l.lapsed(p):
		return queue.Line{Head: &queue.Head{Token: p.CreateIndex, Label: p.Value, Ended: true, Confirm: left}}
	}
	return queue.Line{}
}
