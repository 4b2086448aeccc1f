// Leaderrun-gossip is the helper program of leaderrun for the backend gossip.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/gossip"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("gossip", gossip.Open)) }
