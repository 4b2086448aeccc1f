//go:build !linux

package cmd

import "os"

func isJournal(*os.File) bool { return false }
