//go:build !linux

package pgtest

import "errors"

// mount cannot make a small disk here.
func mount(string, int) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
