package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A disk is a small file system that can be filled.
type disk struct {
	dir    string
	mu     sync.Mutex
	filler []string
}

// files is how many files fit on a disk.
const files = 1000

// newDisk mounts a disk of the given size until the test ends. Its name is seen in the list
// of mounts. The error says why that is impossible.
func newDisk(tb testing.TB, size int64, name string) (*disk, error) {
	d := &disk{dir: tb.TempDir()}
	if size == 0 {
		size = 1 << 20
	}
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700", size, files)
	if err := unix.Mount(name, d.dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, os.NewSyscallError("mount", err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
			tb.Errorf("unmount %s: %v", d.dir, err)
		}
	})
	return d, nil
}

// Dir is the directory in which it is mounted.
func (d *disk) Dir() string { return d.dir }

// Fill leaves no room on it, not even for an empty file, until Free. An existing file
// can still grow to the end of its last page.
func (d *disk) Fill() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		path := filepath.Join(d.dir, fmt.Sprint("full-", len(d.filler)))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, unix.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
		d.filler = append(d.filler, path)
		if len(d.filler) == 1 {
			err = fill(f)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// fill writes to a file until there is no room.
func fill(f *os.File) error {
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); errors.Is(err, unix.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Free ends Fill.
func (d *disk) Free() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, path := range d.filler {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	d.filler = nil
	return errors.Join(errs...)
}

func (h *Host) addDisk(size int64) {
	h.tb.Helper()
	d, err := newDisk(h.tb, size, h.name)
	h.disk = d
	h.lack(Space, err)
}

// FillDisk leaves no room in the host's TMPDIR, until FreeDisk.
func (h *Host) FillDisk() error {
	if h.disk == nil {
		return h.lacks[Space]
	}
	return h.disk.Fill()
}

// FreeDisk ends FillDisk.
func (h *Host) FreeDisk() error {
	if h.disk == nil {
		return nil
	}
	return h.disk.Free()
}

// TempDir is the TMPDIR of the host's processes.
func (h *Host) TempDir() string {
	if h.disk == nil {
		return os.TempDir()
	}
	return h.disk.Dir()
}

// sweepDisks unmounts what dead processes have left.
func sweepDisks() {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "tmpfs" && dead(f[0]) {
			_ = unix.Unmount(f[1], unix.MNT_DETACH)
		}
	}
}
