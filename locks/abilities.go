package locks

import "os"

// A SecretReader is a Lock whose backend reads secrets from the environment.
type SecretReader interface {
	// SecretEnv returns the names of the environment variables that hold
	// credentials of this backend. It is complete once Acquire has returned.
	SecretEnv() []string
}

// SecretEnv returns the variables that hold the credentials of l's backend.
func SecretEnv(l Lock) []string {
	if s, ok := l.(SecretReader); ok {
		return s.SecretEnv()
	}
	return nil
}

// A Permanent lock is one whose grants never end while this process lives:
// their TTL is always 0.
type Permanent interface{ Permanent() bool }

// IsPermanent reports whether l's grants have no TTL. It is known as soon as l
// is open.
func IsPermanent(l Lock) bool {
	p, ok := l.(Permanent)
	return ok && p.Permanent()
}

// Carried is a Lock that an open file carries: it is held as long as any process
// has that open. On Windows, those who are given the file must call Carry.
type Carried interface{ File() *os.File }

// Carrier returns the file that carries l, or nil if none does.
func Carrier(l Lock) *os.File {
	if c, ok := l.(Carried); ok {
		return c.File()
	}
	return nil
}

// Remote is a Lock that another process keeps for us. It goes on after our
// death as long as anybody has its input open.
type Remote interface {
	// LastWords returns the process's id, its input, and what is to be written
	// there to have the lock released after our death.
	LastWords() (pid int, input *os.File, words []byte)
}

// LastWords returns what l's process can be told after our death, or zeros if
// there is no such process.
func LastWords(l Lock) (pid int, input *os.File, words []byte) {
	if r, ok := l.(Remote); ok {
		return r.LastWords()
	}
	return 0, nil, nil
}
