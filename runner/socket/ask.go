package socket

import (
	"crypto/rand"
	"errors"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Ask asks the first leaderrun in the variable, at one of its sockets after the other, and
// blocks for at most about limit. Its error is that of the first socket.
func Ask(variable string, limit time.Duration) (Answer, error) {
	until := time.Now().Add(limit)
	key, sockets := parse(append(split(variable), "")[0])
	first := errors.New("no socket is named")
	outside := false
	for i, at := range sockets {
		a, err := askAt(at, key, until)
		if err == nil && !a.Outside {
			return a, nil
		}
		outside = outside || a.Outside
		if i == 0 {
			first = err
		}
	}
	if outside { // perhaps not ours said so, but nobody has proved to be ours
		return Answer{Outside: true}, nil
	}
	return Answer{}, first
}

func askAt(at string, key []byte, until time.Time) (Answer, error) {
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:]) // never fails
	asked := clock.Boot{}.Now()
	c, err := dial(at, time.Until(until))
	if err != nil {
		return Answer{}, &os.PathError{Op: "connect", Path: at, Err: err}
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(until)
	_, _ = c.Write(nonce[:]) // to a stranger the server answers without reading it
	a, err := read(c, key, nonce[:])
	if a.Now == 0 {
		a.Now = asked
	}
	a.Asked = asked
	return a, err
}
