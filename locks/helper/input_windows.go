package helper

import (
	"io"
	"os"
)

func input() io.Reader { return os.Stdin }
