package doctor

import (
	"fmt"
	"os"
	"syscall"
)

// owner says who owns a file. A helper can only belong to root or to us.
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
