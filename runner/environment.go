package runner

import (
	"slices"
	"strconv"
	"strings"
)

// WithLease returns env with the variables of a lease, which replace those of any other
// lease. A slot of 0 is omitted.
func WithLease(env []string, lock, holder string, token uint64, slot int) []string {
	env = without(env, "LEADERRUN_SLOT")
	if slot > 0 {
		env = append(env, "LEADERRUN_SLOT="+strconv.Itoa(slot))
	}
	return with(env,
		"LEADERRUN_TOKEN="+strconv.FormatUint(token, 10),
		"LEADERRUN_LOCK_NAME="+lock,
		"LEADERRUN_HOLDER="+holder,
	)
}

// with returns env with variables, KEY=value, which replace those of the same names.
func with(env []string, variables ...string) []string {
	for _, kv := range variables {
		key, _, _ := strings.Cut(kv, "=")
		env = append(without(env, key), kv)
	}
	return env
}

func without(env []string, variables ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(variables, key)
	})
}

// Scrubbed returns env without the variables with a backend's secrets, and without the
// address of the backend, which may contain a password.
func Scrubbed(env, secrets []string) []string {
	return without(without(env, secrets...), "LEADERRUN_BACKEND")
}

// environment returns the environment of the job: ours, with the variables of our lease
// instead of those of a leaderrun around us. LEADERRUN_SOCKET is added later.
func (r *run) environment(secrets []string, token uint64, slot int) []string {
	env := without(r.Command.Env, "LEADERRUN_SOCKET", "LEADERRUN_EXIT_STATUS")
	if r.ScrubEnv {
		env = Scrubbed(env, secrets)
	}
	return WithLease(env, r.Lock, r.Holder, token, slot)
}

// around returns LEADERRUN_SOCKET of the leaderrun in whose job we run, or "".
func (r *run) around() string {
	for _, kv := range r.Command.Env {
		if value, ok := strings.CutPrefix(kv, "LEADERRUN_SOCKET="); ok {
			return value
		}
	}
	return ""
}
