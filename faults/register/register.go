//go:build unix

// Package register is what a fencing token protects: a value that a job writes, in
// a store that refuses a token lower than one it has seen.
package register

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Write writes under a token to the register in a file, which is made if there is
// none, and returns the highest token that it had seen until then. The write is
// accepted if ours is not lower. It blocks while another one is under way.
func Write(file string, token uint64) (highest uint64, accepted bool, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, false, err
	}
	defer f.Close() // and with it the lock
	if err := lock(f); err != nil {
		return 0, false, err
	}
	var b [8]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	highest = binary.LittleEndian.Uint64(b[:])
	if token < highest {
		return highest, false, nil
	}
	binary.LittleEndian.PutUint64(b[:], token)
	_, err = f.WriteAt(b[:], 0)
	return highest, err == nil, err
}

func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
