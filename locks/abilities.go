package locks

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
