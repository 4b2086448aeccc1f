package operate

import (
	"context"
	"errors"
	"io"
	"testing"
)

// TestWriteEnds: a stalled reader does not keep a watch from ending.
func TestWriteEnds(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- write(ctx, w, []byte("x")) }()
	if _, err := r.Read(make([]byte, 0)); err != nil { // the write has begun
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v; want %v", err, context.Canceled)
	}
}
