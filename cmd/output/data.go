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

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if ok {
		_, _, ok = Screen(f)
	}
	return ok
}

// CanDraw reports whether w is a terminal on which more than text can be shown.
func CanDraw(w io.Writer) bool { return os.Getenv("TERM") != "dumb" && IsTerminal(w) }

// Colors reports whether to use colours in what is printed to w.
func Colors(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && CanDraw(w) }
