package lockstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A memory is the server of the reference backend: a queue for each lock,
// whose first place holds it. A defect makes it, or its clients, wrong in one
// way: see mutants_test.go.
type memory struct {
	defect string
	leases bool // places end unless they are renewed
	polls  bool // there is no queue: who waits is to ask again

	mu     sync.Mutex
	queues map[string]*queue
	paths  map[string]*path
	leaked []*os.File // not closed by the garbage collector either
	looks  map[*look]bool
	filled []byte // a defect
}

type queue struct {
	token   uint64 // the last that was granted
	arrived uint64
	unclean bool   // the last holder did not release
	text    []byte // the Recorder's; nil: none
	places  []*place
}

// A place is a contender's in a queue.
type place struct {
	key     string
	nonce   string
	record  []byte
	ttl     time.Duration // 0: no lease
	expires time.Time
	timer   *time.Timer
	token   uint64 // not 0: holds the lock
	arrived uint64
	clean   bool
	changed chan struct{} // closed when the place was granted the lock, or is gone
	gone    chan struct{} // closed when it is gone

	inbox    chan []byte // what the owner is asked
	unheard  []byte      // what it will be asked by the next renewal, if that tells
	since    time.Time
	priority int
}

// A record is what a place says about its owner.
type record struct {
	Holder string `json:"holder"`
	RunID  string `json:"run_id"`

	NoResign bool `json:"no_resign"`
	PID      int  `json:"pid"`
}

func newMemory(defect string, leases bool) *memory {
	return &memory{defect: defect, leases: leases, queues: map[string]*queue{}, paths: map[string]*path{}, looks: map[*look]bool{}}
}

func (m *memory) is(defect string) bool { return m.defect == defect }

func (m *memory) queue(key string) *queue {
	q := m.queues[key]
	if q == nil {
		q = &queue{}
		m.queues[key] = q
	}
	return q
}

var errHeld = errors.New("held")

// enter puts a place at the end of the queue; with try, only if that is empty.
func (m *memory) enter(p *place, try bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(p.key)
	if m.place(q, p.nonce) != nil {
		return nil // asked before, and the reply was lost
	}
	if m.is("hostile-record-counts-as-free") && len(q.places) > 0 && !json.Valid(q.places[0].record) {
		m.remove(p.key, q.places[0].nonce, true)
	}
	if try && len(q.places) > 0 && !m.is("try-leaves-place") {
		return errHeld
	}
	p.changed, p.gone, p.since = make(chan struct{}), make(chan struct{}), time.Now()
	q.arrived++
	p.arrived = q.arrived
	if (m.is("unfair") || m.is("token-by-arrival")) && len(q.places) > 1 {
		q.places = slices.Insert(q.places, 1, p)
	} else {
		q.places = append(q.places, p)
	}
	if m.leases {
		m.extend(p)
		p.timer = time.AfterFunc(p.ttl, func() { m.expire(p) })
	}
	m.grant(q)
	if try && p.token == 0 {
		return errHeld
	}
	if p.token != 0 || !m.is("watch-misses-waiters") {
		m.changed(p.key)
	}
	return nil
}

func (m *memory) place(q *queue, nonce string) *place {
	for _, p := range q.places {
		if p.nonce == nonce {
			return p
		}
	}
	return nil
}

func (m *memory) extend(p *place) {
	life := p.ttl
	if m.is("expires-early") {
		life = life * 3 / 4
	}
	p.expires = time.Now().Add(life)
	if p.timer != nil {
		p.timer.Reset(life)
	}
}

func (m *memory) expire(p *place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := time.Until(p.expires); left > 0 {
		p.timer.Reset(left)
		return
	}
	if m.is("places-never-end") && p.token == 0 {
		return
	}
	m.remove(p.key, p.nonce, m.is("clean-after-lapse"))
}

// grant gives the lock to the first in the queue.
func (m *memory) grant(q *queue) {
	i := 0
	if m.is("grants-two") && len(q.places) > 1 {
		i = 1
	}
	if len(q.places) == 0 || q.places[i].token != 0 || q.places[i].nonce == "" {
		return
	}
	p := q.places[i]
	q.token++
	p.token, p.clean = q.token, !q.unclean
	if m.is("token-by-arrival") {
		p.token = p.arrived
	}
	q.unclean = true
	if !m.is("wakes-nobody") {
		close(p.changed)
	}
}

// remove takes a place out of its queue.
func (m *memory) remove(key, nonce string, clean bool) {
	q := m.queue(key)
	i := slices.IndexFunc(q.places, func(p *place) bool { return p.nonce == nonce })
	if i < 0 {
		return
	}
	p := q.places[i]
	q.places = slices.Delete(q.places, i, i+1)
	if p.timer != nil {
		p.timer.Stop()
	}
	switch {
	case clean && m.is("record-lost-on-release"), !clean && m.is("record-lost-on-takeover"):
		q.text = nil
	case m.is("ask-kept-for-the-next-term") && len(q.places) > 0 && p.token != 0 && len(p.inbox) > 0:
		q.places[0].unheard = <-p.inbox
		q.places[0].deliver()
	}
	if p.token != 0 {
		q.unclean = !clean
	} else if p.nonce != "" {
		close(p.changed)
	}
	close(p.gone)
	if m.is("token-restarts-after-release") && len(q.places) == 0 {
		q.token = 0
	}
	m.grant(q)
	if !m.is("watch-misses-the-end") {
		m.changed(key)
	}
}

// renew extends the lease of a place that is still there.
func (m *memory) renew(p *place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(p.key)
	i := slices.Index(q.places, p)
	if i < 0 {
		if !m.is("renew-resurrects") || len(q.places) > 0 {
			return false
		}
		p.gone = make(chan struct{})
		q.places = append(q.places, p)
	}
	if i > 0 && m.is("renew-requeues") {
		q.places = append(slices.Delete(q.places, i, i+1), p)
	}
	m.extend(p)
	p.deliver()
	if m.is("watch-tells-renewals") {
		m.changed(p.key)
	}
	return true
}

// leave takes out the place with the given nonce.
func (m *memory) leave(key, nonce string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.queue(key); m.is("release-by-name") && len(q.places) > 0 && q.places[0].nonce != "" {
		nonce = q.places[0].nonce
	}
	m.remove(key, nonce, true)
}

// status is what the record of the holder says.
func (m *memory) status(key string) locks.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	if len(q.places) == 0 {
		return locks.Status{}
	}
	st := locks.Status{Held: true, Token: q.places[0].token, Waiters: len(q.places) - 1, TTL: q.places[0].ttl, Since: q.places[0].since}
	m.tellTerm(&st, q.places[0])
	raw := q.places[0].record
	switch {
	case m.is("hostile-record-panics") && !json.Valid(raw):
		panic("a record that is no JSON")
	case m.is("hostile-record-fills-memory"):
		m.filled = make([]byte, 1<<30)
	}
	if r := readRecord(raw); !m.is("anonymous") {
		st.Holder, st.RunID, st.NoResign, st.PID = r.Holder, r.RunID, r.NoResign, r.PID
	}
	return st
}

func readRecord(raw []byte) (r record) {
	if len(raw) > 64<<10 || json.Unmarshal(raw, &r) != nil {
		return record{}
	}
	return r
}

func (m *memory) position(p *place) (pos int, granted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Index(m.queue(p.key).places, p), p.token != 0
}

func (m *memory) holds(p *place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return p.token != 0
}

func (m *memory) grantOf(p *place) locks.Grant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return locks.Grant{Token: p.token, Clean: p.clean}
}

// deleteAll is what an operator does.
func (m *memory) deleteAll(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	if m.is("token-restarts-after-deletion") {
		q.token = 0
	}
	if len(q.places) > 0 {
		m.remove(key, q.places[0].nonce, false)
	}
}

// soil overwrites the record of the first in the queue, or puts a stranger
// there who has no lease.
func (m *memory) soil(key string, raw []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue(key)
	if len(q.places) == 0 {
		q.places = []*place{{key: key, changed: make(chan struct{}), gone: make(chan struct{})}}
	}
	q.places[0].record = raw
}

// contents lists the places under a prefix.
func (m *memory) contents(prefix string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for key, q := range m.queues {
		for _, p := range q.places {
			if strings.HasPrefix(key, prefix) {
				lines = append(lines, fmt.Sprintf("%s %q", key, p.nonce))
			}
		}
	}
	return lines
}

// outage stops the server of a store for a while. Leases are given their full time
// anew afterwards, as etcd does.
func (m *memory) outage(u *url.URL, d time.Duration) {
	heal := m.path(u).Cut(CutReset)
	m.mu.Lock()
	for key, q := range m.queues {
		if !strings.HasPrefix(key, u.Path+"\x00") {
			continue
		}
		if m.is("token-restarts-after-restart") {
			q.token = 0
		}
		for _, p := range slices.Clone(q.places) {
			if m.is("restart-forgets") {
				m.remove(p.key, p.nonce, false)
			} else if p.timer != nil {
				p.expires = time.Now().Add(d + p.ttl)
				p.timer.Reset(d + p.ttl)
			}
		}
	}
	m.mu.Unlock()
	time.Sleep(d)
	heal()
}
