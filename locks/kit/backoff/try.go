package backoff

import (
	"context"
	"time"
)

// leastTry is the time that any attempt gets, if there is so much: a slow network needs it.
const leastTry = time.Second

// Try returns the context of one of several attempts that ctx bounds together. None gets more
// than half of the time that is left, so that one whose connection has fallen silent leaves
// time for another; but each gets a second, or all that is left.
func Try(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, max(time.Until(end)/2, leastTry))
}
