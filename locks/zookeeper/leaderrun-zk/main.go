// Leaderrun-zk is the helper program of leaderrun for the backend zookeeper.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/zookeeper"
)

func main() { os.Exit(helper.Main("zk", zookeeper.Open)) }
