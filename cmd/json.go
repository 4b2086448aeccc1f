package cmd

import (
	"encoding/json"
	"io"
)

// writeJSON writes one line of JSON, with <, > and & as they are: it is for no browser.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
