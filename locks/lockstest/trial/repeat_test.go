package trial

import "testing"

func TestCommand(t *testing.T) {
	t.Parallel()
	t.Run("it's one (of two)", func(t *testing.T) {
		t.Parallel()
		const want = `go test -count 1 -v -run '^TestCommand$/^it.s_one_\(of_two\)$' github.com/leaderrun/leaderrun/locks/lockstest/trial`
		if got := Command(t); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
