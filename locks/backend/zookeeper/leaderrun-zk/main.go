// Leaderrun-zk is the helper program of leaderrun for the backend zookeeper.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/zookeeper"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("zk", zookeeper.Open)) }
