package helper

import "time"

func closedWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return isClosed(c) // both may have happened
	}
}

// isClosed reports whether c is closed. Nothing is ever sent on c.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// replace sends v on a channel with room for one value, in place of one that was not
// received yet. There is one sender at a time.
func replace[T any](c chan T, v T) {
	select {
	case <-c:
	default:
	}
	c <- v
}
