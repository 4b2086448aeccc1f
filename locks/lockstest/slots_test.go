package lockstest

import (
	"testing"
	"time"
)

func TestOneSlot(t *testing.T) { RunOneSlot(t, newMemory("", true).config()) }

func TestOneSlotWithoutLeases(t *testing.T) {
	m := newMemory("", false)
	RunOneSlot(t, Config{Open: m.open, URL: m.url, Fair: true, Abilities: everything(), Simulated: true})
}

func TestSlots(t *testing.T) { RunSlots(t, newMemory("", true).config()) }

func TestSlotsWithoutLeases(t *testing.T) {
	m := newMemory("", false)
	RunSlots(t, Config{Open: m.open, URL: m.url, Fair: true, Simulated: true})
}

// TestSlotsThatPoll is over a store without queues.
func TestSlotsThatPoll(t *testing.T) {
	m := newMemory("", true)
	m.polls = true
	c := m.config()
	c.Polling, c.Fair, c.Places = 50*time.Millisecond, false, false
	RunSlots(t, c)
}
