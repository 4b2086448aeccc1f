package output

import (
	"encoding/json"
	"io"
	"os"
)

// JSON writes one line of JSON, with <, > and & as they are, because no browser reads it.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Colors reports whether to use colours in what is printed to w.
func Colors(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, _, ok = Screen(f)
	return ok
}
