package runner

import (
	"slices"
	"strconv"
	"strings"
)

// WithLease returns env with the variables of a lease, which replace those of any other
// lease. A slot of 0 is omitted.
func WithLease(env []string, lock, holder string, token uint64, slot int) []string {
	env = without(env, "LEADERRUN_TOKEN", "LEADERRUN_LOCK_NAME", "LEADERRUN_HOLDER", "LEADERRUN_SLOT")
	if slot > 0 {
		env = append(env, "LEADERRUN_SLOT="+strconv.Itoa(slot))
	}
	return append(env,
		"LEADERRUN_TOKEN="+strconv.FormatUint(token, 10),
		"LEADERRUN_LOCK_NAME="+lock,
		"LEADERRUN_HOLDER="+holder,
	)
}

func without(env []string, variables ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(variables, key)
	})
}

// environment returns the environment of the job: ours, with the variables of our lease
// instead of those of a leaderrun around us. LEADERRUN_SOCKET is added later. With
// ScrubEnv it lacks the secrets and the address of the backend, which may contain a
// password.
func (c *Config) environment(secrets []string, token uint64, slot int) []string {
	drop := []string{"LEADERRUN_SOCKET"}
	if c.ScrubEnv {
		drop = append(drop, secrets...)
		drop = append(drop, "LEADERRUN_BACKEND")
	}
	return WithLease(without(c.Command.Env, drop...), c.Lock, c.Holder, token, slot)
}

// maxSocket is more than the length of any socket's path, in bytes. Anything longer is not
// a socket, and must not fill our answers.
const maxSocket = 256

// around returns the socket of the leaderrun in whose job we run, or "".
func (c *Config) around() string {
	for _, kv := range c.Command.Env {
		if path, ok := strings.CutPrefix(kv, "LEADERRUN_SOCKET="); ok && len(path) < maxSocket {
			return path
		}
	}
	return ""
}
