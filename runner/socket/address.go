package socket

import (
	"encoding/hex"
	"strings"
)

// maxDepth is the maximum number of leaderruns around each other that a job can ask.
const maxDepth = 32

// address returns what a server adds to the variable.
func address(key []byte, sockets []string) string {
	return strings.Join(append([]string{"key=" + hex.EncodeToString(key)}, sockets...), ",")
}

// split returns the addresses in the variable, from the inside out.
func split(variable string) []string {
	if variable == "" {
		return nil
	}
	rest, keyed := strings.CutPrefix(variable, "key=")
	if !keyed {
		return []string{"key=," + variable} // one path, without a key
	}
	all := strings.SplitN(rest, ",key=", maxDepth+1)
	all = all[:min(len(all), maxDepth)]
	for i := range all {
		all[i] = "key=" + all[i]
	}
	return all
}

// parse returns the key and the sockets of an address.
func parse(address string) (key []byte, sockets []string) {
	parts := strings.Split(address, ",")
	key, err := hex.DecodeString(strings.TrimPrefix(parts[0], "key="))
	if err != nil { // nobody can prove that
		return nil, nil
	}
	return key, parts[1:]
}

// Join returns the variable of a job, from the address of its leaderrun and the variable of
// that.
func Join(inner, around string) string {
	all := append([]string{inner}, split(around)...)
	return strings.Join(all[:min(len(all), maxDepth)], ",")
}
