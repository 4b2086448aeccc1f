package gossip

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A timeline makes ages comparable. A member publishes one number by which all compare its
// age: the moment of its start on the timeline of the fleet. Ages that each receiver
// estimates would differ, and so would their decisions. The timeline is that of the first
// member's boot clock. A member that is alone has its own, and takes that of the first
// fleet that it meets; of two that are alone, the younger does.
type timeline struct {
	started clock.Instant
	offset  time.Duration // the fleet's time, less ours
	alone   bool          // it is only ours
}

func newTimeline() timeline { return timeline{started: clock.Boot{}.Now(), alone: true} }

// since returns the moment of our start, in milliseconds.
func (t *timeline) since() int64 { return (t.offset + time.Duration(t.started)).Milliseconds() }

// now returns the present moment, in milliseconds.
func (t *timeline) now() int64 {
	return (t.offset + time.Duration(clock.Boot{}.Now())).Milliseconds()
}

// A clockCard is what members tell each other about time.
type clockCard struct {
	Now   int64         `json:"now"` // the fleet's, in milliseconds
	Age   time.Duration `json:"age_ns"`
	Alone bool          `json:"alone"`
	Name  string        `json:"name"`
}

// time returns what others learn about time.
func (l *Lock) time() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.timeline
	b, _ := json.Marshal(clockCard{t.now(), clock.Boot{}.Now().Sub(t.started), t.alone, l.id}) // it cannot fail
	return b
}

// learn takes the timeline of another member, if ours is only our own.
func (l *Lock) learn(b []byte) {
	var c clockCard
	if len(b) > maxCard || json.Unmarshal(b, &c) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t, now := &l.timeline, clock.Boot{}.Now()
	older := cmp.Or(cmp.Compare(now.Sub(t.started), c.Age), cmp.Compare(c.Name, l.id)) > 0
	if t.alone && !(c.Alone && older) {
		t.offset = time.Duration(c.Now)*time.Millisecond - time.Duration(now)
		_ = l.workers.Go(func(context.Context) { l.advertise(func(*card) {}) }) // unless we are closed
	}
	t.alone = false
	workers.Poke(l.changed)
}
