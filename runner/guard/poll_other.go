//go:build !linux || !(amd64 || arm64)

package guard

// newLine returns the line of a guard's process. It has no inbox of its own.
func newLine(fd int) (line, inbox, error) {
	c, err := newConn(fd)
	return c, nil, err
}
