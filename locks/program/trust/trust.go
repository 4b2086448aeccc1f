// Package trust tells files that only we and root can have written from others:
// for programs that we start, settings that we act upon, and links to directories.
package trust

import "errors"

// A Distrust says why a file that is there is not trusted.
type Distrust string

func (d Distrust) Error() string { return string(d) }

// ErrNoFile is that of a directory, a pipe or a device.
var ErrNoFile = errors.New("not a regular file")
