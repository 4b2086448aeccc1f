package options

import (
	"context"
	"net/url"
	"os"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// Where returns the store of a handle, for people: its address, and for the backend file whom it
// covers.
func Where(ctx context.Context, l locks.Lock, backend *url.URL) string {
	return Address(ctx, l, backend) + Covers(backend)
}

// Address returns the address alone.
func Address(ctx context.Context, l locks.Lock, backend *url.URL) string {
	at := locks.Location(ctx, l)
	if at == "" {
		at = known.Redact(backend)
	}
	return locks.Printable(at)
}

// Covers returns in parentheses for whom the locks of the backend file are, or "" for another.
func Covers(backend *url.URL) string {
	switch {
	case backend.Scheme != "file":
		return ""
	case backend.Path != "" || os.Getenv("LEADERRUN_FILE_DIR") != "":
		return " (this machine only)"
	}
	return " (this machine and this user only)"
}
