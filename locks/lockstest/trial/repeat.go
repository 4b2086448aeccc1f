package trial

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// Command is the one that runs a test again, and no other.
func Command(tb testing.TB) string {
	pkg := "."
	if info, ok := debug.ReadBuildInfo(); ok {
		pkg = strings.TrimSuffix(info.Path, ".test")
	}
	levels := strings.Split(tb.Name(), "/")
	for i, l := range levels {
		levels[i] = "^" + regexp.QuoteMeta(l) + "$"
	}
	return fmt.Sprintf("go test -count 1 -v -run '%s' %s", strings.ReplaceAll(strings.Join(levels, "/"), "'", "."), pkg)
}
