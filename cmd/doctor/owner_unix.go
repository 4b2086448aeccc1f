//go:build unix

package doctor

import (
	"fmt"
	"os"
	"syscall"
)

// owner says to whom a file belongs: a helper can only be root's or ours.
func owner(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return ""
	case st.Uid == 0:
		return "root"
	}
	return fmt.Sprintf("user %d", st.Uid)
}
