package helper

import (
	"io"
	"os"
)

func input() io.Reader { return os.Stdin }

// reuse returns nil, because what was left unread cannot be dropped. If we die, the guard
// cannot have the lock released, and it ends with its lease.
func (p *pipe) reuse() *pipe {
	p.close()
	return nil
}
