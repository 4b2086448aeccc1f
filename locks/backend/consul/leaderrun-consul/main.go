// Leaderrun-consul is the helper program of leaderrun for the backend consul.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/consul"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("consul", consul.Open)) }
