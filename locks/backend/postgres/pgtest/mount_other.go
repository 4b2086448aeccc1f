//go:build !linux

package pgtest

import "errors"

// mount is not implemented for this system.
func mount(string, int) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
