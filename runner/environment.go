package runner

import (
	"slices"
	"strconv"
	"strings"
)

// WithLease returns an environment with the variables of a lease, in place of those of
// any other. A slot of 0 is left out.
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

// environment returns the job's: ours, without what another leaderrun around us may
// have put there, and with what this one promises. LEADERRUN_SOCKET is added later.
// With ScrubEnv it lacks the given variables and the backend's address, which may hold
// a password.
func (c *Config) environment(secrets []string, token uint64, slot int) []string {
	drop := []string{"LEADERRUN_SOCKET"}
	if c.ScrubEnv {
		drop = append(drop, secrets...)
		drop = append(drop, "LEADERRUN_BACKEND")
	}
	return WithLease(without(c.Command.Env, drop...), c.Lock, c.Holder, token, slot)
}

// maxSocket is more than the path of a socket can have, in bytes: what is
// longer is no socket, and must not fill our answers.
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
