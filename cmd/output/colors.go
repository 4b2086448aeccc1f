package output

import (
	"io"
	"os"
)

// Colors reports whether what is printed to w is to have colours.
func Colors(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, _, ok = Screen(f)
	return ok
}
