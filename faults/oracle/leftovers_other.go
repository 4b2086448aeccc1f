//go:build !linux

package oracle

import (
	"errors"
	"fmt"
)

// Leftovers needs /proc.
func Leftovers(string) ([]string, error) { return nil, errNoProc() }

// LeftoversOn also needs /proc.
func LeftoversOn(string, string) ([]string, error) { return nil, errNoProc() }

func errNoProc() error {
	return fmt.Errorf("look for what is left: %w", errors.ErrUnsupported)
}
