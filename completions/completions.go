// Package completions has the scripts that make shells complete a command line of
// leaderrun. They are thin: they ask the program for the candidates, see "leaderrun
// completion" in package cmd, and pass them to their shell.
//
// The files have the names that the shells look for, so that they can be installed unchanged.
// This is a package of its own because files can be embedded only from the folder of the
// package.
package completions

import _ "embed" // the program prints the files themselves, so they cannot be out of date

//go:embed leaderrun.bash
var bash string

//go:embed _leaderrun
var zsh string

//go:embed leaderrun.fish
var fish string

// Shells returns the names of the shells that have a script.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Script returns the script of a shell, or "" if it has none.
func Script(shell string) string {
	return map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
}
