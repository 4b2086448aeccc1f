// Leaderrun-k8s is the helper program of leaderrun for the backend k8s.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/kubernetes"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("k8s", kubernetes.Open)) }
