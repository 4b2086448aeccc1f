// Leaderrun-postgres is the helper program of leaderrun for the backend postgres.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/postgres"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("postgres", postgres.Open)) }
