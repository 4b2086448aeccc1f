package realserver

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Clock is the date of a server, which a test may change while the server runs. Package
// libfaketime of Debian does that.
type Clock struct {
	process *Process
	file    string // libfaketime reads it again each time

	mu    sync.Mutex
	ahead time.Duration // at the moment since
	rate  float64
	since time.Time
}

// FakeClock gives the server a Clock from its next start on, which is right at first. Its monotonic
// clock remains the machine's.
func (p *Process) FakeClock() *Clock {
	p.TB.Helper()
	c := p.FakeClocks()
	p.Env = append(p.Env, "FAKETIME_DONT_FAKE_MONOTONIC=1")
	return c
}

// FakeClocks is FakeClock, but the Clock is also the server's monotonic clock. So it may run at
// another rate, but must not be set forward.
func (p *Process) FakeClocks() *Clock {
	p.TB.Helper()
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1") // the pattern is valid
	if len(found) == 0 {
		Missing(p.TB, "there is no libfaketime; Debian has it in faketime")
	}
	c := &Clock{process: p, file: filepath.Join(filepath.Dir(p.LogFile), "date"), rate: 1}
	c.Change(0, 1)
	p.Env = append(p.Env, "LD_PRELOAD="+found[0], "FAKETIME_TIMESTAMP_FILE="+c.file, "FAKETIME_NO_CACHE=1")
	return c
}

// Change sets the date forward by a time, and lets it run at a rate from then on.
func (c *Clock) Change(forward time.Duration, rate float64) {
	c.process.TB.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.ahead, c.since, c.rate = c.aheadAt(now)+forward, now, rate
	// libfaketime multiplies all the time since the start of the process.
	offset := c.ahead - time.Duration(float64(now.Sub(c.process.started))*(rate-1))
	next := c.file + "~" // it must never read a part
	err := os.WriteFile(next, fmt.Appendf(nil, "%+.6f x%v\n", offset.Seconds(), rate), 0o644)
	if err == nil {
		err = os.Rename(next, c.file)
	}
	if err != nil {
		c.process.TB.Error(err)
	}
}

// Check fails the test if now does not return the server's date as it should be.
func (c *Clock) Check(now func() time.Time) {
	c.process.TB.Helper()
	const inexact = 100 * time.Millisecond // the start of the process is known later
	c.mu.Lock()
	defer c.mu.Unlock()
	begin := time.Now()
	got := now()
	end := time.Now()
	if least, most := begin.Add(c.aheadAt(begin)-inexact), end.Add(c.aheadAt(end)+inexact); got.Before(least) || got.After(most) {
		c.process.TB.Errorf("the server's date is %v; want one from %v to %v", got, least, most)
	}
}

// aheadAt returns by how much the date is ahead.
func (c *Clock) aheadAt(t time.Time) time.Duration {
	if c.since.IsZero() {
		return 0
	}
	return c.ahead + time.Duration(float64(t.Sub(c.since))*(c.rate-1))
}
