package zktest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// EndSession ends a client's session as ZooKeeper's own tests do: it resumes the session on
// another connection, and closes it.
func (s *Server) EndSession(id int64) error {
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	request := binary.BigEndian.AppendUint32(nil, 12+4+8+4+16)
	request = append(request, make([]byte, 12)...) // version, zxid
	request = binary.BigEndian.AppendUint32(request, 10_000)
	request = binary.BigEndian.AppendUint64(request, uint64(id))
	request = append(request, 0, 0, 0, 16)
	request = append(request, password(id)...)
	request = append(request, 0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5) // closeSession is -11
	if _, err := conn.Write(request); err != nil {
		return err
	}
	for range 2 { // the answers to resuming and to closing
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return fmt.Errorf("session %x was not ended: %w", id, err)
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size[:]))); err != nil {
			return fmt.Errorf("session %x was not ended: %w", id, err)
		}
	}
	return nil
}

// password returns the password of a session. The server computes it from the id with
// Java's random numbers (3.8: SessionTrackerImpl, ZooKeeperServer.generatePasswd).
func password(id int64) (b []byte) {
	const multiplier, mask = 0x5DEECE66D, 1<<48 - 1
	seed := (uint64(id) ^ 0xB3415C00 ^ multiplier) & mask
	for len(b) < 16 {
		seed = (seed*multiplier + 0xB) & mask
		b = binary.LittleEndian.AppendUint32(b, uint32(seed>>16))
	}
	return b
}
