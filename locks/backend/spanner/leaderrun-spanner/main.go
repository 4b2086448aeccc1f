// Leaderrun-spanner is the helper program of leaderrun for the backend spanner.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/spanner"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("spanner", spanner.Open)) }
