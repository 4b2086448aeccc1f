package helper

import "github.com/leaderrun/leaderrun/locks/program/trust"

// trusted returns the program that path names, with links resolved.
func trusted(path string) (string, error) {
	target, _, err := trust.File(path)
	return target, err
}
