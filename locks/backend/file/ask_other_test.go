//go:build !linux

package file

const askDelay = askInterval
