package tester

import "os"

// Long reports whether tests should run in full, as in `make test-long`, rather than as a
// selection or a sample.
func Long() bool { return os.Getenv(ours+"LONG") == "1" }
