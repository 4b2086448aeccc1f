//go:build !linux

package gossip

import "net/netip"

// user would return the program that has a port: see port_linux.go.
func user(netip.AddrPort) string { return "" }
