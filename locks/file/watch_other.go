//go:build !linux

package file

import (
	"context"
	"os"
)

const watches = false

func awaitRemoval(context.Context, string, os.FileInfo, func()) error { return nil }
