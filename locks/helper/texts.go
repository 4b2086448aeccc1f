package helper

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// Record implements locks.Recorder.
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	p, err := l.call(ctx, request{Method: methodRecord})
	return bytesOf(p.result.Record), err
}

// SetRecord implements locks.Recorder.
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	err := l.do(ctx, request{Method: methodSetRecord, Text: string(text)})
	if err != nil && l.last().session.isReleased() {
		return failed(l.where, methodSetRecord, locks.ErrLost, errReleased)
	}
	return err
}

// Ask implements locks.Asker.
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	return l.do(ctx, request{Method: methodAsk, Token: token, Text: string(text)})
}

// Asked implements locks.Asker.
func (l *Lock) Asked() <-chan []byte { return l.asked }

func takeRecord(_ *pending, r *result) error {
	if r.Record != nil && len(*r.Record) > locks.MaxRecord {
		return errors.New("a record that is too long")
	}
	return nil
}

func answerRecord(ctx context.Context, r locks.Recorder, c *call) error {
	text, err := r.Record(ctx)
	switch {
	case err != nil:
		return err
	case text == nil:
		return nil
	case locks.CheckText(text) != nil:
		return errors.New("the stored record is not valid text")
	}
	record := string(text)
	c.result.Record = &record
	return nil
}

// takeAsked keeps the latest request to the holder.
func (s *session) takeAsked(m *message) error {
	switch {
	case s.grant == nil:
		return errors.New("a request to the holder of a lock that was not granted")
	case m.Text == nil || len(*m.Text) > locks.MaxRecord:
		return errors.New("a request to the holder with a text that is missing or too long")
	}
	replace(s.asked, []byte(*m.Text))
	return nil
}

// asked returns the requests to the holder, or nil if its backend never reports any.
func (h *handle) asked() <-chan []byte {
	if a, ok := h.lock.(locks.Asker); ok {
		return a.Asked()
	}
	return nil
}

// passOn reports a request to the holder, unless no Ask can have left it.
func (s *server) passOn(h *handle, text []byte) {
	if len(text) > locks.MaxRecord || !utf8.Valid(text) {
		s.log.Debug("ignored an invalid request to the holder", "bytes", len(text))
		return
	}
	request := string(text)
	s.report(h, message{Event: eventAsked, Text: &request})
}

// bytesOf returns a text as bytes, or nil if there is none.
func bytesOf(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}
