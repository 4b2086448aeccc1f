package runner

import (
	"slices"
	"strconv"
	"strings"
)

// environment is the job's: ours, without what another leaderrun around us may
// have put there, and with what this one promises (LEADERRUN_SOCKET is added by
// who serves it). With ScrubEnv it lacks the given variables and the backend's
// address, which may hold a password.
func (r *run) environment(secrets []string) []string {
	drop := []string{"LEADERRUN_TOKEN", "LEADERRUN_LOCK_NAME", "LEADERRUN_HOLDER", "LEADERRUN_SOCKET"}
	if r.ScrubEnv {
		drop = append(drop, secrets...)
		drop = append(drop, "LEADERRUN_BACKEND")
	}
	env := slices.DeleteFunc(slices.Clone(r.Command.Env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, key)
	})
	return append(env,
		"LEADERRUN_TOKEN="+strconv.FormatUint(r.grant.Token, 10),
		"LEADERRUN_LOCK_NAME="+r.Lock,
		"LEADERRUN_HOLDER="+r.Holder,
	)
}
