package socket

import (
	"iter"
	"time"
)

// A Link is the answer of a leaderrun around us, and its part of the variable.
type Link struct {
	Answer
	Address string
}

// Chain asks the leaderruns in the variable, as [Ask] does, from the inside out. If one of them
// does not answer, its link is the last and has an error, and there may be others around it.
func Chain(variable string, limit time.Duration) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for _, address := range split(variable) {
			a, err := Ask(address, limit)
			if !yield(Link{a, address}, err) || err != nil {
				return
			}
		}
	}
}
