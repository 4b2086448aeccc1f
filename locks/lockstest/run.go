package lockstest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// width is how many tests run at once. Tests mainly wait, so unlike testing's own limit
// this does not depend on the number of processors.
const width = 14

// room is for how many of these a test counts: for more than one on a busy machine, where many
// at once would only wait for each other until their time is over.
func (c Config) room() int {
	if c.Simulated {
		return 1
	}
	return trial.Scale()
}

// A place is a test's among those that run at once.
type place struct {
	all  *semaphore.Weighted
	room int64 // of all
}

func (p *place) take(room int) {
	p.room = int64(min(room, width))
	_ = p.all.Acquire(context.Background(), p.room) // ends, as no test takes more than all
}

func (p *place) leave() { p.all.Release(p.room) }

// widen makes room for the next repetition of a test, in the end for nothing beside it. Tests
// that have failed because of each other would otherwise be repeated beside each other.
func (p *place) widen() {
	room := 4 * int(p.room)
	p.leave()
	p.take(room)
}

// A test checks one property of a backend.
type test struct {
	name   string
	run    func(e *env)
	needs  []need
	alone  bool // disturbs other tests, or is disturbed by them
	recipe bool // depends on the recipe, if there is one, and not on its store
}

// A need is something that a Config may or may not declare.
type need struct {
	name string
	met  func(c Config) bool
}

var (
	needTTL     = need{"TTL", func(c Config) bool { return c.TTL > 0 }}
	needFair    = need{"Fair", func(c Config) bool { return c.Fair }}
	needPlaces  = need{"Places", func(c Config) bool { return c.Places }}
	needCut     = need{"Cut", func(c Config) bool { return c.Cut != nil }}
	needConns   = need{"Connections", func(c Config) bool { return c.Connections != nil || c.Simulated }}
	needHTTP    = need{"HTTP", func(c Config) bool { return c.HTTP }}
	needTwin    = need{"Twin", func(c Config) bool { return c.Twin != nil }}
	needEvict   = need{"Evict", func(c Config) bool { return c.Evict != nil }}
	needRestart = need{"Restart", func(c Config) bool { return c.Restart != nil }}
	needCrowd   = need{"Crowd", func(c Config) bool { return c.Crowd != nil }}
	needLeft    = need{"ReportsLeft", func(c Config) bool { return c.ReportsLeft }}
	needStart   = need{"ReportsStart", func(c Config) bool { return c.ReportsStart }}
	needAdopts  = need{"Adopts", func(c Config) bool { return c.Adopts }}
	needForeign = need{"Foreign", func(c Config) bool { return len(c.Foreign) > 0 }}
	needHostile = need{"Hostile", func(c Config) bool { return len(c.Hostile) > 0 }}
)

// Run tests a backend. Its tests run in parallel. Call Run from a test that is not itself
// parallel, because the last of its tests count the open files and the children of this
// process.
func Run(t *testing.T, c Config) { runAll(t, c, tests(c)) }

func runAll(t *testing.T, c Config, tests []test) {
	if !c.Simulated {
		c.ended = &ended{}
		defer c.ended.check(t)
	}
	var wg sync.WaitGroup
	all := semaphore.NewWeighted(width)
	for _, tt := range wanted(t, c, tests) {
		if tt.alone {
			wg.Wait()
		}
		p := &place{all: all}
		p.take(c.room())
		wg.Go(func() {
			defer p.leave()
			c.test(t, tt, p)
		})
		if tt.alone {
			wg.Wait()
		}
	}
	wg.Wait()
}

// test runs one test.
func (c Config) test(t *testing.T, tt test, p *place) {
	t.Run(tt.name, func(t *testing.T) {
		if c.Simulated {
			synctest.Test(t, func(t *testing.T) { tt.run(newEnv(t, c, 1)) })
			return
		}
		repeated := false
		trial.Steady(t, func(t testing.TB, scale int) {
			if repeated {
				p.widen()
			}
			repeated = true
			tt.run(newEnv(t, c, scale))
		})
	})
}

// wanted returns the tests whose needs c declares, with those that run alone last. It
// logs the others.
func wanted(t *testing.T, c Config, all []test) []test {
	var together, alone []test
	for _, tt := range all {
		if missing := lacks(c, tt.needs); len(missing) > 0 {
			t.Logf("not tested because %s is not declared: %s", strings.Join(missing, ", "), tt.name)
			continue
		}
		if tt.recipe && c.Recipe && !tester.Long() {
			t.Logf("left to the recipe's own tests, and to long ones: %s", tt.name)
			continue
		}
		if tt.alone {
			alone = append(alone, tt)
		} else {
			together = append(together, tt)
		}
	}
	return append(together, alone...)
}

func lacks(c Config, needs []need) []string {
	var missing []string
	for _, n := range needs {
		if !n.met(c) {
			missing = append(missing, n.name)
		}
	}
	return missing
}
