package trial

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// Command is the one that runs a test again, from the root of the module.
func Command(tb testing.TB) string {
	dir := "./..."
	if info, ok := debug.ReadBuildInfo(); ok {
		dir = "." + strings.TrimPrefix(strings.TrimSuffix(info.Path, ".test"), info.Main.Path)
	}
	levels := strings.Split(tb.Name(), "/")
	for i, l := range levels {
		levels[i] = "^" + regexp.QuoteMeta(l) + "$"
	}
	return fmt.Sprintf("go test -race -count 1 -v -run '%s' %s", strings.Join(levels, "/"), dir)
}
