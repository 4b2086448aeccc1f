// Leaderrun-mysql is the helper program of leaderrun for the backend mysql.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/mysql"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("mysql", mysql.Open)) }
