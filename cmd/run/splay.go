package run

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"time"
)

// splay returns the pause before the first campaign, in [0, --splay). It is the same for
// one host and lock at all times, and those of many hosts are spread evenly.
func (s *session) splay() time.Duration {
	if s.opt.Splay.D <= 0 {
		return 0
	}
	host, _ := os.Hostname() // hosts without a name have the same pause
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", host, s.opt.Lock)
	spread := rand.New(rand.NewPCG(h.Sum64(), 0)) // because similar names have similar hashes
	return time.Duration(spread.Int64N(int64(s.opt.Splay.D)))
}
