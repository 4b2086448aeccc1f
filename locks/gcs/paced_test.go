package gcs

import (
	"context"
	"testing"
	"time"
)

// TestPaced: a renewal that has no time to wait for its turn does not, and one
// whose turn has come does not either.
func TestPaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		wrote time.Duration // from now
		limit time.Duration
		waits bool
	}{
		{"no time", time.Hour, time.Hour, false},
		{"time to wait, and none for the request", time.Hour, time.Hour + time.Second, false},
		{"time for both", time.Hour, 2 * time.Hour, true},
		{"no limit", time.Hour, 0, true},
		{"its turn has come", -time.Second, time.Hour, false},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if tt.limit > 0 {
			var end context.CancelFunc
			ctx, end = context.WithTimeout(ctx, tt.limit)
			defer end()
		}
		done := make(chan error, 1)
		go func() { done <- new(Lock).paced(ctx, &term{wrote: now().Add(tt.wrote)}) }()
		if tt.waits {
			cancel() // a wait ends with an error, whether it had begun or not
		}
		select {
		case err := <-done:
			if (err != nil) != tt.waits {
				t.Errorf("%s: %v; want it to wait: %v", tt.name, err, tt.waits)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits; want it to wait: %v", tt.name, tt.waits)
		}
	}
}
