// Command leaderrun is the program of that name, to be built with the race detector.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/cmd"
)

func main() {
	status := cmd.Main(os.Args, cmd.NewEnv(""))
	if os.Args[0] == "leaderrun-guard" {
		quit(status)
	}
	os.Exit(status)
}
