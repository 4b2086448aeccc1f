// Package register is a store protected by fencing tokens: a value that a job writes, and that
// refuses a token lower than one it has seen. This is a package of its own because its tests
// would not run in testdata, where the job of the suite is.
package register

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Write writes under a token to the register in a file, which it creates if necessary, and
// returns the highest token that the register had seen before. The write is accepted if
// our token is not lower. It blocks while another write is under way.
func Write(file string, token uint64) (highest uint64, accepted bool, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, false, err
	}
	defer f.Close() // closing also releases the lock
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
