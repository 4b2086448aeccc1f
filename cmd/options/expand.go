package options

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
)

// expand replaces ${NAME} and ${NAME:-default} by the values of environment variables, and
// "$$" by "$". Any other "$" stays as it is, for shells.
func expand(text string) (string, error) {
	if !strings.Contains(text, "$") { // most texts need no regular expressions
		return text, nil
	}
	var first error
	expanded := regexp.MustCompile(`\$\$|\$\{[^}]*\}?`).ReplaceAllStringFunc(text, func(reference string) string {
		value, err := resolve(reference)
		first = cmp.Or(first, err)
		return value
	})
	if first != nil {
		return "", first
	}
	return expanded, nil
}

// resolve returns the value of a reference. As in a shell, the default also replaces an
// empty value.
func resolve(reference string) (string, error) {
	if reference == "$$" {
		return "$", nil
	}
	part := regexp.MustCompile(`(?s)^\$\{([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?\}$`).FindStringSubmatch(reference)
	switch {
	case !strings.HasSuffix(reference, "}"):
		return "", fmt.Errorf("%s has no closing }", output.Quote(reference))
	case part == nil:
		return "", fmt.Errorf("%s is neither ${NAME} nor ${NAME:-default}; a $ by itself is $$", output.Quote(reference))
	}
	name, hasDefault, instead := part[1], part[2] != "", part[3]
	value, set := os.LookupEnv(name)
	switch {
	case hasDefault && value == "":
		return instead, nil
	case !set:
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	return value, nil
}
