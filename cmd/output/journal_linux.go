package output

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// isJournal reports whether a file is the stream to systemd's journal that we
// were started with, systemd.exec(5). The variable that says so is also
// inherited by processes whose standard error is another file.
func isJournal(f *os.File) bool {
	stream := os.Getenv("JOURNAL_STREAM")
	if stream == "" {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
