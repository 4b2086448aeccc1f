package trial

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// Command returns the command that repeats only this test.
func Command(tb testing.TB) string {
	levels := strings.Split(tb.Name(), "/")
	for i, l := range levels {
		levels[i] = "^" + regexp.QuoteMeta(l) + "$"
	}
	return fmt.Sprintf("go test -count 1 -v -run '%s' %s", strings.ReplaceAll(strings.Join(levels, "/"), "'", "."), tested())
}

// tested returns the package of these tests.
func tested() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return strings.TrimSuffix(info.Path, ".test")
	}
	return "."
}
