package etcd

import (
	"net/url"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
)

// Suffixes of the keys of a lock, after the prefix and the escaped name. No escaped
// name has "/", "%r" or "%a", so keys of different locks never collide.
const (
	queueSuffix  = "/" // followed by the id of the entry's lease
	recordSuffix = "%record"
	askSuffix    = "%ask"
)

// longestName is longer than any escaped name, in bytes.
const longestName = 3*locks.MaxName + 16

// keyOf returns a key of a lock, or what all keys of its queue begin with.
func (l *lock) keyOf(name, suffix string) string { return l.prefix + locks.EscapeName(name) + suffix }

// recordKey returns the key of the lock's record: <prefix>/<escaped name>%record.
func (l *lock) recordKey() []byte { return []byte(l.keyOf(l.o.Name, recordSuffix)) }

// askKey returns the key of the request to the holder. It is not in the queue.
func (l *lock) askKey() []byte { return []byte(l.keyOf(l.o.Name, askSuffix)) }

// queueEnd returns the end of the range of the queue's keys.
func (l *lock) queueEnd() []byte { return []byte(endOf(l.queue)) }

// endOf returns the end of the range of keys that begin with a text that ends in "/": the
// character after "/" is "0".
func endOf(directory string) string { return directory[:len(directory)-1] + "0" }

// owner returns the name of the lock that a key belongs to, and the key's suffix. The name
// is "" if the key belongs to no lock.
func (l *lock) owner(key string) (name, suffix string) {
	escaped, ok := strings.CutPrefix(key, l.prefix)
	if !ok {
		return "", ""
	}
	if i := strings.Index(escaped, queueSuffix); i >= 0 {
		escaped, suffix = escaped[:i], queueSuffix
	} else if rest, ok := strings.CutSuffix(escaped, recordSuffix); ok {
		escaped, suffix = rest, recordSuffix
	} else if rest, ok := strings.CutSuffix(escaped, askSuffix); ok {
		escaped, suffix = rest, askSuffix
	}
	name, err := url.PathUnescape(escaped)
	if err != nil || suffix == "" || locks.CheckSlotName(name) != nil || locks.EscapeName(name) != escaped {
		return "", ""
	}
	return name, suffix
}

// after returns the key where a search for names continues after a key: after the whole
// queue that the key is in. It is never long: if the key is longer than any name, no other
// name begins with so much of it.
func (l *lock) after(key string) string {
	rest := key[len(l.prefix):]
	if i := strings.Index(rest, queueSuffix); 0 <= i && i <= longestName {
		return endOf(l.prefix + rest[:i+1])
	}
	if len(rest) > longestName {
		return clientv3.GetPrefixRangeEnd(l.prefix + rest[:longestName])
	}
	return key + "\x00"
}
