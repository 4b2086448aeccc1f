package voter

import (
	"errors"
	"os"
)

func lockFile(*os.File) error { return errors.New("a voter needs Linux or another Unix") }
