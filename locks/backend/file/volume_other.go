//go:build !linux && !darwin && !freebsd

package file

import "os"

// volumeOf does not know the space left.
func volumeOf(*os.File) (volume, error) { return volume{}, nil }
