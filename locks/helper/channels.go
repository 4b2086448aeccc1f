package helper

import "time"

func closedWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return isClosed(c) // as both may have happened
	}
}

// isClosed is about a channel on which nothing is sent.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// replace sends what takes the place of anything that was not received yet, in a
// channel with room for one. There is one sender at a time.
func replace[T any](c chan T, v T) {
	drain(c)
	c <- v
}

func drain[T any](c chan T) {
	select {
	case <-c:
	default:
	}
}
