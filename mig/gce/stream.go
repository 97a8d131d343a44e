package gce

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// stream reads a text of JSON value by value, each of them once. The text must be
// valid, as all that wire hands on is.
type stream struct {
	text []byte
	in   *json.Decoder
}

func streamOf(text []byte) stream { return stream{text, json.NewDecoder(bytes.NewReader(text))} }

// read reads the next value into v.
func (s stream) read(v any) error { return notUnderstood(s.in.Decode(v)) }

// take reads the next value into v and returns its text.
func (s stream) take(v any) (text []byte, err error) {
	begin := s.in.InputOffset()
	err = s.read(v)
	return bytes.TrimLeft(s.text[begin:s.in.InputOffset()], ",: \t\r\n"), err
}

func (s stream) skip() error { return s.read(new(json.RawMessage)) }

// members calls each with the keys of the object that comes next, whose values it is to
// read. An object that is null has none.
func (s stream) members(each func(key string) error) error {
	return s.within('{', func() error {
		key, err := s.in.Token()
		if err != nil {
			return notUnderstood(err)
		}
		return each(key.(string))
	})
}

// elements calls each before every element of the array that comes next, which it is to
// read. An array that is null has none.
func (s stream) elements(each func() error) error { return s.within('[', each) }

func (s stream) within(begin json.Delim, each func() error) error {
	switch token, err := s.in.Token(); {
	case err != nil:
		return notUnderstood(err)
	case token == nil:
		return nil
	case token != json.Token(begin):
		return fmt.Errorf("answer not understood: %v where a %v should be", token, begin)
	}
	for s.in.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := s.in.Token()
	return notUnderstood(err)
}

func notUnderstood(err error) error {
	if err != nil {
		return fmt.Errorf("answer not understood: %w", err)
	}
	return nil
}
