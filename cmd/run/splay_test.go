package run

import (
	"fmt"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/cmd/options"
)

// TestSplay: the pause of a lock is fixed and within --splay, and those of locks with
// similar names are spread evenly.
func TestSplay(t *testing.T) {
	t.Parallel()
	s := &session{opt: options.NewValues()}
	if got := s.splay(); got != 0 {
		t.Errorf("without --splay: %v", got)
	}
	s.opt.Splay.D = 10 * time.Second
	var tenths [10]int
	for i := range 1000 {
		s.opt.Lock = fmt.Sprintf("job-%d", i)
		d := s.splay()
		if d < 0 || d >= s.opt.Splay.D || d != s.splay() {
			t.Fatalf("%s: %v, and then %v", s.opt.Lock, d, s.splay())
		}
		tenths[d/time.Second]++
	}
	for second, n := range tenths {
		if n < 60 || n > 150 {
			t.Errorf("%d of 1000 locks wait for %d seconds; want about 100", n, second)
		}
	}
}
