// Leaderrun-quorum is the helper program of leaderrun for the backend quorum, and with the word
// voter, the standing voter of a host.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/quorum"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "voter" {
		os.Exit(quorum.Voter(os.Args[2:]))
	}
	status := helper.Main("quorum", quorum.Open)
	if len(os.Args) > 1 && os.Args[1] != "--version" { // by hand
		_, _ = os.Stdout.WriteString("On each host that votes, run: leaderrun-quorum voter --help\n")
	}
	os.Exit(status)
}
