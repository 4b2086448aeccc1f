package oracle

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// at is a moment in a made-up record, in seconds.
func at(s float64) clock.Instant { return clock.Instant(math.Round(s * float64(time.Second))) }

func command(what string, token uint64, first, last float64) Stay {
	return Stay{trace.Entry{What: what, Token: token}, trace.Span{First: at(first), Last: at(last)}}
}

// TestAlone judges made-up lives.
func TestAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		all   []Stay
		wrong int
		least time.Duration
	}{
		{"one after the other", []Stay{command("job", 1, 1, 2), command("job", 2, 2.5, 3)}, 0, time.Second / 2},
		{"at one time", []Stay{command("job", 1, 1, 2), command("job", 2, 1.5, 3)}, 1, -time.Second / 2},
		{"at one moment", []Stay{command("job", 1, 1, 2), command("job", 2, 2, 3)}, 1, 0},
		{"within another", []Stay{command("job", 1, 1, 9), command("job", 2, 2, 3), command("job", 3, 4, 5)}, 2, -7 * time.Second},
		{"under one token", []Stay{command("service", 1, 1, 2), command("resign", 1, 1.5, 3), command("elected", 2, 5, 6)}, 1, 2 * time.Second},
		{"a single one", []Stay{command("job", 1, 1, 2)}, 0, math.MaxInt64},
	} {
		if found, least := Alone(tt.all); len(found) != tt.wrong || least != tt.least {
			t.Errorf("%s: got %v, %v; want %d violations, %v", tt.name, found, least, tt.wrong, tt.least)
		}
	}
}

func TestRising(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tokens []uint64
		want   int
	}{
		{[]uint64{1, 2, 5}, 0},
		{[]uint64{1, 1, 5}, 1},
		{[]uint64{3, 2, 4}, 1},
	} {
		var all []Stay
		for _, token := range tt.tokens {
			all = append(all, command("job", token, 0, 0))
		}
		if got := Rising(all); len(got) != tt.want {
			t.Errorf("%v: got %q", tt.tokens, got)
		}
	}
}

// TestStays reads a life from its file.
func TestStays(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "life")
	start := trace.Entry{Kind: trace.Start, Life: file}
	if _, err := Stays([]trace.Entry{start}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its life: got %v, want an error", err)
	}
	if err := trace.WriteLife(file, trace.Span{First: at(1), Last: at(5)}); err != nil {
		t.Fatal(err)
	}
	got, err := Stays([]trace.Entry{{Kind: trace.Began}, start})
	if err != nil || len(got) != 1 || got[0].First != at(1) || got[0].Last != at(5) {
		t.Errorf("got %v, %v; want one from 1 s to 5 s", got, err)
	}
}
