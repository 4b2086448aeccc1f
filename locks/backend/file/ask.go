package file

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A request to the holder is a file beside the lock file, put there in one step, that
// names the token that it is for. Then the requester touches the lock file, which its
// holder watches: so a holder does not wake up for requests about other locks.

const askSuffix = ".ask"

// maxAsk is the size limit of such a file: "TOKEN ID\n" and the text.
const maxAsk = locks.MaxRecord + 64

// Ask implements [locks.Asker]. It leaves nothing if another holder, or nobody, has the
// lock.
func (l *Locker) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	content := append(strconv.AppendUint(nil, token, 10), ' ')
	content = append(content, newName()...) // the same text may be sent twice
	content = append(append(content, '\n'), text...)
	_, err := interruptible(ctx, l, "ask", func() (struct{}, error) {
		st, err := l.look()
		if err != nil || !st.Held || st.Token != token {
			return struct{}{}, err
		}
		if err := l.replace(askSuffix, content, func() error { return nil }, unsynced); err != nil {
			return struct{}{}, err
		}
		now := time.Now()
		return struct{}{}, os.Chtimes(l.path, now, now)
	})
	return err
}

// askInterval is how often a holder looks for a request if it cannot watch. On Linux, requests
// arrive at once.
const askInterval = 2 * time.Second

// listen returns a function to call when there may be a request to the holder of a token.
func (l *Locker) listen(token uint64) func() {
	return func() {
		content, err := l.readBeside(askSuffix, maxAsk)
		if err != nil {
			l.log.Debug("a request to the holder cannot be read", "lock", l.o.Name, "err", err)
		}
		head, text, _ := bytes.Cut(content, []byte("\n"))
		to, _, _ := bytes.Cut(head, []byte(" "))
		if string(to) != strconv.FormatUint(token, 10) {
			return
		}
		l.Deliver(string(head), text)
	}
}

// poll calls look now and then until ctx ends.
func poll(ctx context.Context, look func()) {
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for {
		look()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

var _ locks.Asker = (*Locker)(nil)
