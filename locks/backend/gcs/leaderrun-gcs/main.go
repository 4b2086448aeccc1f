// Leaderrun-gcs is the helper program of leaderrun for the backend gcs.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/gcs"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("gcs", gcs.Open)) }
