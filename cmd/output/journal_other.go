//go:build !linux

package output

import "os"

func isJournal(*os.File) bool { return false }
