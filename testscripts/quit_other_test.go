//go:build unix && !linux

package testscripts

import "os"

func quit(status int) { os.Exit(status) }
