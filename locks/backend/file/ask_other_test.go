//go:build unix && !linux

package file

const askDelay = askInterval
