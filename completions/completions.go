// Package completions has the scripts that make shells complete what is typed after
// "leaderrun". They are thin: what there is to complete they ask the program, see
// "leaderrun completion" in package cmd, and hand it to their shell in its own way.
//
// The files are named as the shells look for them, to be installed as they are.
package completions

import _ "embed" // the program prints the files themselves, so that they are never stale

//go:embed leaderrun.bash
var bash string

//go:embed _leaderrun
var zsh string

//go:embed leaderrun.fish
var fish string

//go:embed leaderrun.ps1
var powershell string

// Shells are the names of those that have a script.
func Shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// Script returns the script of a shell, or "" if it has none.
func Script(shell string) string {
	return map[string]string{"bash": bash, "zsh": zsh, "fish": fish, "powershell": powershell}[shell]
}
