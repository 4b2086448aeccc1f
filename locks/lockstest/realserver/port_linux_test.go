package realserver

import "testing"

// TestFreePortIsReserved checks that two tests do not get the same port, even if neither
// listens yet.
func TestFreePortIsReserved(t *testing.T) {
	t.Parallel()
	var port int
	t.Run("while it runs", func(t *testing.T) {
		port = FreePort(t)
		if reserve(t, port) {
			t.Error("another test can have the same port")
		}
	})
	if !reserve(t, port) {
		t.Error("nobody can have the port again")
	}
}
