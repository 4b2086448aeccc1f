package hosts_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// TestSearch: each address has its share of the time, and the one that was found comes first.
func TestSearch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		search := hosts.Search{Lookup: func(ctx context.Context, host string) ([]string, error) {
			switch host {
			case "slow":
				<-ctx.Done()
				return nil, ctx.Err()
			case "two":
				return []string{"10.0.0.1", "::1"}, nil
			case "none":
				return nil, errors.New("no such host")
			}
			return []string{host}, nil
		}}
		each := func(servers string) (got []string) {
			start := time.Now()
			for ctx, a := range search.Each(t.Context(), strings.Split(servers, " "), 12*time.Second) {
				<-ctx.Done() // nobody answers
				got = append(got, a.Addr+" until "+time.Since(start).String())
			}
			return got
		}
		for servers, want := range map[string][]string{
			"10.0.0.9:1":        {"10.0.0.9:1 until 12s"},
			"two:1 10.0.0.9:1":  {"10.0.0.1:1 until 3s", "[::1]:1 until 6s", "10.0.0.9:1 until 12s"},
			"none:1 /run/s":     {"none:1 until 6s", "/run/s until 12s"},
			"slow:1 10.0.0.9:1": {"slow:1 until 6s", "10.0.0.9:1 until 12s"},
		} {
			if got := each(servers); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", servers, got, want)
			}
		}
		search.Found(hosts.Address{Server: "two:1", Addr: "[::1]:1"})
		want := []string{"[::1]:1 until 3s", "10.0.0.1:1 until 6s", "10.0.0.9:1 until 12s"}
		if got := each("10.0.0.9:1 two:1"); !slices.Equal(got, want) {
			t.Errorf("after one was found: got %q, want %q", got, want)
		}
	})
}
