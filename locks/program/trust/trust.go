// Package trust checks that only we and root can have written a file: a program that we
// start, settings that we act on, or a link to a directory.
package trust

import "errors"

// A Distrust says why an existing file is not trusted.
type Distrust string

func (d Distrust) Error() string { return string(d) }

// errNoFile is the error for a directory, a pipe or a device.
var errNoFile = errors.New("not a regular file")
