package runner

import (
	"slices"
	"strconv"
	"strings"
)

// WithLease returns an environment that tells a job of its lease, and of no
// other. A slot of 0 is none.
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

// environment is the job's: ours, without what another leaderrun around us may
// have put there, and with what this one promises (LEADERRUN_SOCKET is added by
// who serves it). With ScrubEnv it lacks the given variables and the backend's
// address, which may hold a password.
func (r *run) environment(secrets []string) []string {
	drop := []string{"LEADERRUN_SOCKET"}
	if r.ScrubEnv {
		drop = append(drop, secrets...)
		drop = append(drop, "LEADERRUN_BACKEND")
	}
	return WithLease(without(r.Command.Env, drop...), r.Lock, r.Holder, r.grant.Token, r.slot)
}

// maxSocket is more than the path of a socket can have, in bytes: what is
// longer is none, and must not fill our answers.
const maxSocket = 256

// around is the socket of the leaderrun in whose job we run, or "".
func (r *run) around() string {
	for _, kv := range r.Command.Env {
		if path, ok := strings.CutPrefix(kv, "LEADERRUN_SOCKET="); ok && len(path) < maxSocket {
			return path
		}
	}
	return ""
}
