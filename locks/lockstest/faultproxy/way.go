package faultproxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// A way is what is wrong with one direction.
type way struct {
	cut, sever    bool
	delay, jitter time.Duration
	rate          int // bytes a second; 0 means no limit
}

// CutReplies makes everything that the server sends vanish.
func (p *Proxy) CutReplies() { p.set(func(f *faults) { f.replies.cut = true }) }

// CutRequests makes everything that the client sends vanish.
func (p *Proxy) CutRequests() { p.set(func(f *faults) { f.requests.cut = true }) }

// CutAll makes everything vanish, like a black hole. New connections are accepted, as by
// a connection tracker in between.
func (p *Proxy) CutAll() { p.both(func(w *way) { w.cut = true }) }

// Delay holds back each piece of data for d, in each direction. Data that arrives
// meanwhile waits for its turn, and so for up to twice as long.
func (p *Proxy) Delay(d time.Duration) { p.both(func(w *way) { w.delay = d }) }

// DelayRequests is like Delay for what the client sends.
func (p *Proxy) DelayRequests(d time.Duration) { p.set(func(f *faults) { f.requests.delay = d }) }

// DelayReplies is like Delay for what the server sends.
func (p *Proxy) DelayReplies(d time.Duration) { p.set(func(f *faults) { f.replies.delay = d }) }

// Jitter holds back each piece for a random time below d, in each direction, in addition
// to any Delay. The order does not change, because this is TCP.
func (p *Proxy) Jitter(d time.Duration) { p.both(func(w *way) { w.jitter = d }) }

// Throttle lets rate bytes a second pass, on each connection and in each direction.
func (p *Proxy) Throttle(rate int) { p.both(func(w *way) { w.rate = rate }) }

// SeverRequests lets half of the client's next data on a connection pass, and then resets
// the connection: the server has received half a request.
func (p *Proxy) SeverRequests() { p.set(func(f *faults) { f.requests.sever = true }) }

// SeverReplies lets half of the server's next data on a connection pass, and then resets
// the connection: a request was carried out, and the client cannot know.
func (p *Proxy) SeverReplies() { p.set(func(f *faults) { f.replies.sever = true }) }

func (p *Proxy) both(change func(*way)) {
	p.set(func(f *faults) {
		change(&f.requests)
		change(&f.replies)
	})
}

// forward copies one direction until its source ends, subject to the faults.
func (p *Proxy) forward(c *pair, dst, src *net.TCPConn, of func(faults) way) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if src == c.client && n > 0 {
			if c.unable.Load() {
				c.refuse(buf[:n])
				return
			}
			p.sent(c)
		}
		severed, ok := p.pass(c, n, of)
		if !ok {
			return
		}
		if severed && n > 0 {
			_, _ = dst.Write(buf[:n/2])
			c.reset()
			return
		}
		_, werr := dst.Write(buf[:n])
		late := c.late.Load()
		switch {
		case late && src == c.client && err != nil:
			return // the server must not learn that nobody waits: it may still be working
		case late && src == c.server && err == nil: // the client may have gone
		case werr != nil:
			c.reset()
			return
		case errors.Is(err, io.EOF):
			_ = dst.CloseWrite()
			return
		case err != nil:
			c.reset()
			return
		}
	}
}

// sent counts a piece of data that a client has sent.
func (p *Proxy) sent(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold--; p.hold == 0 {
		c.silent.Store(true)
	}
	p.hold = max(p.hold, 0)
}

// refuse answers requests with 503 until the client closes the connection. The first begins
// with data that has been read. If that is the middle of a request, the connection is reset.
func (c *pair) refuse(begun []byte) {
	defer c.reset()
	for r := bufio.NewReader(io.MultiReader(bytes.NewReader(begun), c.client)); ; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, err = io.Copy(io.Discard, req.Body)
		if err == nil {
			_, err = io.WriteString(c.client, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
		}
		if err != nil {
			return
		}
	}
}

// pass waits until the network lets n bytes through, and reports whether to sever them.
// It returns false for ok if the connection ended meanwhile.
func (p *Proxy) pass(c *pair, n int, of func(faults) way) (severed, ok bool) {
	f, changed := p.now()
	if d := of(f).wait(n); d > 0 {
		select {
		case <-time.After(d):
		case <-c.done:
			return false, false
		}
		f, changed = p.now()
	}
	for of(f).cut || c.silent.Load() {
		select {
		case <-changed:
		case <-c.done:
			return false, false
		}
		f, changed = p.now()
	}
	return of(f).sever, true
}

// wait returns how long n bytes are held back.
func (w way) wait(n int) time.Duration {
	d := w.delay
	if w.jitter > 0 {
		d += rand.N(w.jitter)
	}
	if w.rate > 0 {
		d += time.Duration(n) * time.Second / time.Duration(w.rate)
	}
	return d
}
