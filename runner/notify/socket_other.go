//go:build !unix

package notify

import "errors"

// No service manager of these systems speaks the protocol.
type socket struct{}

func open(string) (*socket, error) { return nil, errors.ErrUnsupported }

func (*socket) send([]byte) error { return errors.ErrUnsupported }
func (*socket) close()            {}
func isFull(error) bool           { return false }
