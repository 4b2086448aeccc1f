package gossip

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// user returns the program that has a port of this machine, if it has another name than
// leaderrun, and if we may know: root sees all processes, others their own.
func user(port netip.AddrPort) string {
	var sockets []string
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		sockets = append(sockets, socketsAt("/proc/net/"+table, port)...)
	}
	if len(sockets) == 0 {
		return "" // it is free now
	}
	us, _ := os.Executable()
	all, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range all {
		if link, err := os.Readlink(fd); err != nil || !slices.Contains(sockets, link) {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		exe, err := os.Readlink("/proc/" + pid + "/exe")
		if name := filepath.Base(exe); err == nil && exe != us && !strings.HasPrefix(name, "leaderrun") {
			return name + ", process " + pid
		}
		return ""
	}
	return ""
}

// socketsAt returns the sockets in a table of the kernel that have a port at its address, or at
// all addresses, as /proc/PID/fd names them. See proc_net(5).
func socketsAt(table string, port netip.AddrPort) (all []string) {
	f, err := os.Open(table)
	if err != nil {
		return nil // no IPv6
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if len(field) < 10 {
			continue
		}
		address, number, _ := strings.Cut(field[1], ":")
		n, err := strconv.ParseUint(number, 16, 16)
		listens := field[3] == "0A" || field[3] == "07" // TCP that listens, UDP that is not connected
		if ip, ok := kernelIP(address); err == nil && ok && listens && uint16(n) == port.Port() && (ip == port.Addr() || ip.IsUnspecified()) {
			all = append(all, fmt.Sprintf("socket:[%s]", field[9]))
		}
	}
	return all
}

// kernelIP reads an address as the kernel prints it: words of 32 bits, in the machine's order.
func kernelIP(text string) (netip.Addr, bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b)%4 != 0 {
		return netip.Addr{}, false
	}
	for word := range slices.Chunk(b, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(b)
	return ip.Unmap(), ok
}
