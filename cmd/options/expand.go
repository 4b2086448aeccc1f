package options

import (
	"fmt"
	"os"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
)

// expand replaces ${NAME} and ${NAME:-default} by the values of environment variables, and
// "$$" by "$". Any other "$" stays as it is, for shells. It does without package regexp,
// which would be a twentieth of the core.
func expand(text string) (string, error) {
	var expanded strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		expanded.WriteString(before)
		if !found {
			return expanded.String(), nil
		}
		reference, rest, closed := strings.Cut(after, "}")
		switch {
		case strings.HasPrefix(after, "$"):
			expanded.WriteString("$")
			text = after[1:]
		case !strings.HasPrefix(after, "{"):
			expanded.WriteString("$")
			text = after
		case !closed:
			return "", fmt.Errorf("%s has no closing }", output.Quote("$"+reference))
		default:
			value, err := resolve(reference[1:])
			if err != nil {
				return "", err
			}
			expanded.WriteString(value)
			text = rest
		}
	}
}

// resolve returns the value of a reference, which is NAME or NAME:-default. As in a shell,
// the default also replaces an empty value.
func resolve(reference string) (string, error) {
	name, instead, hasDefault := strings.Cut(reference, ":-")
	if !isName(name) {
		return "", fmt.Errorf("%s is neither ${NAME} nor ${NAME:-default}; a $ by itself is $$", output.Quote("${"+reference+"}"))
	}
	value, set := os.LookupEnv(name)
	switch {
	case hasDefault && value == "":
		return instead, nil
	case !set:
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	return value, nil
}

// isName reports whether s can be the name of a variable: letters, digits and underscores,
// with no digit first.
func isName(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	return s != "" && strings.Trim(s, letters+"0123456789") == "" && strings.Contains(letters, s[:1])
}
