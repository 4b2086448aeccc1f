//go:build unix

package helper

import "github.com/leaderrun/leaderrun/locks/program/trust"

// trusted returns the program that path names, with links resolved. It refuses one that
// anybody except root and us could have put there, because a helper gets passwords and
// the core acts on its word.
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
