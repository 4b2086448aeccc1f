package operate

import (
	"context"
	"errors"
	"os"
)

var errUnread = errors.New("the output has no reader any more")

// whileRead does nothing: the next write fails.
func whileRead(ctx context.Context, _ *os.File) context.Context { return ctx }
