package tester

import "os"

// Long reports whether tests are to run in full, as in `make test-long`, where they
// are otherwise a selection or a sample.
func Long() bool { return os.Getenv(ours+"LONG") == "1" }
