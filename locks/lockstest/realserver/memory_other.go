//go:build !linux

package realserver

func memory() string { return "" }
