package output

import (
	"bytes"
	"errors"
	"testing"
)

func TestWithoutRepeats(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := testConsole(&out)
	c.Start(Settings{Verbose: 1})
	log := c.LogWithoutRepeats()
	for range 2 {
		log.Info("looked")
		log.Warn("left out", "path", "a")
		log.Warn("left out", "path", "b", "err", errors.New("why"))
		log.With("lock", "x").Warn("left out", "path", "a")
	}
	c.Flush()
	want := "leaderrun: looked\nleaderrun: warning: left out path=a\nleaderrun: warning: left out path=b: why\nleaderrun: warning: left out lock=x path=a\nleaderrun: looked\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for i := range 3 * maxWarnings {
		log.Warn("many", "number", i)
	}
	if n := len(log.Handler().(*handler).past.texts); n > maxWarnings {
		t.Errorf("%d warnings are kept; want at most %d", n, maxWarnings)
	}
}
