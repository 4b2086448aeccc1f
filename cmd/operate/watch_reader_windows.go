package operate

import (
	"context"
	"errors"
	"os"
)

var errUnread = errors.New("nobody reads what is watched any more")

// whileRead does nothing: it is the next write that fails.
func whileRead(ctx context.Context, _ *os.File) context.Context { return ctx }
