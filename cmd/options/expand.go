package options

import (
	"fmt"
	"os"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
)

// expand puts the values of environment variables for ${NAME} and
// ${NAME:-default}; "$$" is a "$". Any other "$" is itself, for shells.
func expand(text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), nil
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			text = rest[1:]
		case !strings.HasPrefix(rest, "{"):
			b.WriteByte('$')
			text = rest
		default:
			inner, after, closed := strings.Cut(rest[1:], "}")
			value, err := variable(inner)
			if !closed {
				err = fmt.Errorf("%s has no closing }", output.Quote("${"+inner))
			}
			if err != nil {
				return "", err
			}
			b.WriteString(value)
			text = after
		}
	}
}

// variable returns the value of NAME or NAME:-default. As in a shell the default
// is also for a variable that is empty.
func variable(text string) (string, error) {
	name, instead, hasDefault := strings.Cut(text, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf("%s is neither ${NAME} nor ${NAME:-default}; a $ by itself is $$", output.Quote("${"+text+"}"))
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

func isVariable(name string) bool {
	for i, c := range name {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return name != ""
}
