//go:build !linux

package main

import "os"

func quit(status int) { os.Exit(status) }
