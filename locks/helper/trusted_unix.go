//go:build unix

package helper

import "github.com/leaderrun/leaderrun/locks/program/trust"

// trusted returns the program that path names, links resolved. It refuses one
// that somebody other than root and we could have put there: a helper is told
// passwords, and its word is what the core acts upon.
func trusted(path string) (string, error) {
	target, fi, err := trust.File(path)
	if err != nil {
		return "", err
	}
	if fi.Mode()&0o111 == 0 {
		return "", errNoProgram
	}
	return target, nil
}
