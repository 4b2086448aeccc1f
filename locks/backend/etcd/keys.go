package etcd

import (
	"net/url"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
)

// What follows the prefix and the escaped name in the keys of a lock. No escaped
// name has a "/" in it, nor a "%r" or a "%a", so no key is another lock's.
const (
	inQueue   = "/" // and then the id of the entry's lease
	theRecord = "%record"
	theAsk    = "%ask"
)

// longestName is more than any escaped name has, in bytes.
const longestName = 3*locks.MaxName + 16

// keyOf returns a key of a lock, or what all keys of its queue begin with.
func (l *lock) keyOf(name, what string) string { return l.prefix + locks.EscapeName(name) + what }

// recordKey is the lock's record: <prefix>/<escaped name>%record.
func (l *lock) recordKey() []byte { return []byte(l.keyOf(l.o.Name, theRecord)) }

// askKey is the request to the holder. It is a key beside the queue, as the
// record is.
func (l *lock) askKey() []byte { return []byte(l.keyOf(l.o.Name, theAsk)) }

// queueEnd is the end of the range of keys that begin with the queue's.
func (l *lock) queueEnd() []byte { return []byte(endOf(l.queue)) }

// endOf is the end of the range of keys that begin like this, which ends in "/":
// that is followed by "0".
func endOf(directory string) string { return directory[:len(directory)-1] + "0" }

// owner tells whose key this is, and what it is to that lock. The name is "" if
// it is no lock's.
func (l *lock) owner(key string) (name, what string) {
	escaped, ok := strings.CutPrefix(key, l.prefix)
	if !ok {
		return "", ""
	}
	if i := strings.Index(escaped, inQueue); i >= 0 {
		escaped, what = escaped[:i], inQueue
	} else if rest, ok := strings.CutSuffix(escaped, theRecord); ok {
		escaped, what = rest, theRecord
	} else if rest, ok := strings.CutSuffix(escaped, theAsk); ok {
		escaped, what = rest, theAsk
	}
	name, err := url.PathUnescape(escaped)
	if err != nil || what == "" || locks.CheckSlotName(name) != nil || locks.EscapeName(name) != escaped {
		return "", ""
	}
	return name, what
}

// after is where to go on after a key when only names matter: behind all of the
// queue that it is in. It is never long, whatever the key is: there are no names
// behind what is longer than any.
func (l *lock) after(key string) string {
	rest := key[len(l.prefix):]
	if i := strings.Index(rest, inQueue); 0 <= i && i <= longestName {
		return endOf(l.prefix + rest[:i+1])
	}
	if len(rest) > longestName {
		return clientv3.GetPrefixRangeEnd(l.prefix + rest[:longestName])
	}
	return key + "\x00"
}
