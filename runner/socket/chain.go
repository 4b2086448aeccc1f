package socket

import (
	"iter"
	"time"
)

// maxDepth bounds how many leaderruns, one around the other, are asked.
const maxDepth = 32

// A Link is what a leaderrun around us says, and the path of its socket.
type Link struct {
	Answer
	Path string
}

// Chain asks the leaderrun at path, then the one around that, and so on
// outwards. The last link has an error if there may be more: somebody does not
// answer. Each is asked as by [Ask].
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
