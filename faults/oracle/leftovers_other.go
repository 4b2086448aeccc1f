//go:build !linux

package oracle

import (
	"errors"
	"fmt"
)

// Leftovers needs /proc.
func Leftovers(string) ([]string, error) {
	return nil, fmt.Errorf("look for what is left: %w", errors.ErrUnsupported)
}
