// Leaderrun-etcd is the helper program of leaderrun for the backend etcd.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("etcd", etcd.Open)) }
