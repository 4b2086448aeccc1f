package socket

import (
	"iter"
	"time"
)

// maxDepth is the maximum number of leaderruns that Chain asks.
const maxDepth = 32

// A Link is the answer of a leaderrun around us, and the path of its socket.
type Link struct {
	Answer
	Path string
}

// Chain asks the leaderrun at path, then the one around that, and so on outwards, as [Ask]
// does. If one of them does not answer, its link is the last and has an error, and there may be
// others around it.
func Chain(path string, limit time.Duration) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		asked := map[string]bool{}
		for path := path; path != "" && !asked[path] && len(asked) < maxDepth; {
			asked[path] = true
			a, err := Ask(path, limit)
			if !yield(Link{a, path}, err) || err != nil {
				return
			}
			path = a.Around
		}
	}
}
