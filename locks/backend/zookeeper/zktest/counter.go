package zktest

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"os"
	"path/filepath"
)

// SetCounter sets the number that the next sequential child of a node gets. child is the
// path of the node's last child. SetCounter restarts the server, and changes the
// transaction that created the child in the server's log.
func (s *Server) SetCounter(child string, next int32) {
	s.TB.Helper()
	s.Kill()
	logs, err := filepath.Glob(filepath.Join(s.dir, "version-2", "log.*"))
	if err != nil {
		s.TB.Fatal(err)
	}
	changed := false
	for _, name := range logs {
		b, err := os.ReadFile(name)
		if err != nil {
			s.TB.Fatal(err)
		}
		if setCounter(b, child, next) {
			changed = true
			if err := os.WriteFile(name, b, 0o600); err != nil {
				s.TB.Fatal(err)
			}
		}
	}
	if !changed {
		s.TB.Fatalf("no transaction creates %s", child)
	}
	s.Start()
}

// setCounter changes the transaction that creates a node: its path, data, list of
// permissions and kind, and then its parent's new counter (FileTxnLog, CreateTxn).
func setCounter(log []byte, child string, next int32) (changed bool) {
	const fileHeader, sumAndSize, txnHeader, end = 16, 8 + 4, 8 + 4 + 8 + 8 + 4, 1
	for at := fileHeader; at+sumAndSize < len(log); {
		size := int(binary.BigEndian.Uint32(log[at+8:]))
		if size == 0 {
			break // the rest of the file is empty
		}
		txn := log[at+sumAndSize:][:size]
		if body := txn[min(txnHeader, size):]; bytes.HasPrefix(body, text(child)) {
			rest := skipText(skipText(body))
			acls := binary.BigEndian.Uint32(rest)
			for rest = rest[4:]; acls > 0; acls-- {
				rest = skipText(skipText(rest[4:]))
			}
			binary.BigEndian.PutUint32(rest[1:], uint32(next))
			binary.BigEndian.PutUint64(log[at:], uint64(adler32.Checksum(txn)))
			changed = true
		}
		at += sumAndSize + size + end
	}
	return changed
}

// text returns a string as ZooKeeper stores it.
func text(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

// skipText returns what follows a string or a buffer.
func skipText(b []byte) []byte {
	return b[4+max(0, int32(binary.BigEndian.Uint32(b))):]
}
