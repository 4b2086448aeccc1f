package file

import (
	"os"
	"slices"

	"golang.org/x/sys/windows"
)

// fileSystemOf returns the file system of f. A cluster's shared volume (CSVFS) also
// counts as a fixed drive, and so does a file system that a process serves, so the name
// matters as well.
func fileSystemOf(f *os.File) (fileSystem, error) {
	var name [windows.MAX_PATH + 1]uint16
	var path, root [windows.MAX_LONG_PATH]uint16
	file := windows.Handle(f.Fd())
	err := windows.GetVolumeInformationByHandle(file, nil, 0, nil, nil, nil, &name[0], uint32(len(name)))
	if err == nil {
		_, err = windows.GetFinalPathNameByHandle(file, &path[0], uint32(len(path)), 0)
	}
	if err == nil {
		err = windows.GetVolumePathName(&path[0], &root[0], uint32(len(root)))
	}
	if err != nil {
		return fileSystem{}, &os.PathError{Op: "find the volume of", Path: f.Name(), Err: err}
	}
	fs := fileSystem{name: windows.UTF16ToString(name[:])}
	switch windows.GetDriveType(&root[0]) {
	case windows.DRIVE_FIXED, windows.DRIVE_REMOVABLE, windows.DRIVE_RAMDISK:
		if slices.Contains([]string{"NTFS", "ReFS", "FAT", "FAT32", "exFAT", "UDF"}, fs.name) {
			fs.reach = local
		}
	case windows.DRIVE_REMOTE:
		fs = fileSystem{fs.name + " on a network drive", shared}
	}
	return fs, nil
}
