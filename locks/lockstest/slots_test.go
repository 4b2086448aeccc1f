package lockstest

import (
	"testing"
	"time"
)

func TestOneSlot(t *testing.T) { RunOneSlot(t, newMemory("", true).config()) }

func TestOneSlotWithoutLeases(t *testing.T) {
	m := newMemory("", false)
	RunOneSlot(t, Config{Open: m.open, URL: m.url, Fair: true, Abilities: everything()})
}

// slotTTL is long enough for holders to be renewed on a busy machine: several
// are to hold at once, over many steps.
const slotTTL = 2 * time.Second

func TestSlots(t *testing.T) {
	c := newMemory("", true).config()
	c.TTL = slotTTL
	RunSlots(t, c)
}

func TestSlotsWithoutLeases(t *testing.T) {
	m := newMemory("", false)
	RunSlots(t, Config{Open: m.open, URL: m.url, Fair: true})
}

// TestSlotsThatPoll is over a store without queues.
func TestSlotsThatPoll(t *testing.T) {
	m := newMemory("", true)
	m.polls = true
	c := m.config()
	c.TTL, c.Polling, c.Fair, c.Places = slotTTL, 50*time.Millisecond, false, false
	RunSlots(t, c)
}
