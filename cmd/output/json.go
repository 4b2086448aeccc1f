package output

import (
	"encoding/json"
	"io"
)

// JSON writes one line of JSON, with <, > and & as they are: it is for no browser.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
