package lockstest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestPath sends one request over each path, which arrives at most once.
func TestPath(t *testing.T) {
	for _, tt := range []struct {
		how             Cut
		before, answers int // how often it has arrived at the end of the cut, and after the cut
	}{{"", 1, 1}, {CutReplies, 1, 1}, {CutAll, 0, 1}, {CutReset, 0, 0}, {CutNth(0), 0, 1}, {CutNth(1), 1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var p Path
			heal := func() {}
			if tt.how != "" {
				heal = p.Cut(tt.how)
			}
			arrived, err := 0, errors.New("no answer")
			go func() { err = p.Do(t.Context(), func() { arrived++ }) }()
			synctest.Wait()
			if arrived != tt.before {
				t.Errorf("%q: the request arrived %d times; want %d", tt.how, arrived, tt.before)
			}
			heal()
			synctest.Wait()
			if arrived != tt.answers || (err == nil) != (tt.answers == 1) || err != nil && !errors.Is(err, locks.ErrUnavailable) {
				t.Errorf("%q: after the cut the request had arrived %d times; want %d (%v)", tt.how, arrived, tt.answers, err)
			}
		})
	}
}

// TestPathIsGivenUp checks that a cut blocks no caller for longer than its context, and that a
// request that is held back arrives later.
func TestPathIsGivenUp(t *testing.T) {
	for how, want := range map[Cut]int{CutAll: 0, CutNth(0): 1} {
		synctest.Test(t, func(t *testing.T) {
			var p Path
			heal, arrived := p.Cut(how), 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := p.Do(ctx, func() { arrived++ }); !errors.Is(err, context.DeadlineExceeded) || arrived > 0 {
				t.Errorf("%s: got %v, and the request arrived %d times", how, err, arrived)
			}
			if heal(); arrived != want {
				t.Errorf("%s: the request arrived %d times; want %d", how, arrived, want)
			}
		})
	}
}
