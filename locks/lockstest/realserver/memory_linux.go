package realserver

import "golang.org/x/sys/unix"

// memory is where files are kept in memory, or "" if there is no such place with room for
// the servers of a suite.
func memory() string {
	const dir, room = "/dev/shm", 4 << 30
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Type != unix.TMPFS_MAGIC || st.Bavail*uint64(st.Bsize) < room || unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	return dir
}
