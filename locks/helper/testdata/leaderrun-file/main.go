// Leaderrun-file is a helper program for the file backend, which normally needs none.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/file"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("file", file.Open)) }
