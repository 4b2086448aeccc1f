// Leaderrun-azblob is the helper program of leaderrun for the backend azblob.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/helper"
)

func main() { os.Exit(helper.Main("azblob", azblob.Open)) }
