package gce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// stream reads a JSON text value by value. The text must be valid, as wire guarantees. So the end
// of a value is easy to find, and only the values that are read are parsed completely.
type stream struct {
	text []byte
	at   int
}

func streamOf(text []byte) *stream { return &stream{text: text} }

// read parses the next value into v.
func (s *stream) read(v any) error { return notUnderstood(json.Unmarshal(s.next(), v)) }

// next skips the next value and returns its text, which is empty at the end.
func (s *stream) next() []byte {
	first, begin := s.peek(), s.at
	switch first {
	case '"':
		s.passString()
	case '{', '[':
		s.passNested()
	default:
		if end := bytes.IndexAny(s.text[begin:], ",]} \t\r\n"); end >= 0 {
			s.at += end
		} else {
			s.at = len(s.text)
		}
	}
	return s.text[begin:s.at]
}

// passString skips the string at the current position.
func (s *stream) passString() {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return
		}
	}
	s.at = len(s.text)
}

// passNested skips the object or array at the current position.
func (s *stream) passNested() {
	for depth := 0; s.at < len(s.text); {
		switch s.text[s.at] {
		case '"':
			s.passString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
	}
}

// peek returns the first byte of the next value, or the byte that ends the enclosing list; 0 at the
// end.
func (s *stream) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ',', ':', ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// members calls each with every key of the object that comes next; each must read the value. A null
// object has zero keys.
func (s *stream) members(each func(key string) error) error {
	return s.within('{', func() error {
		var key string
		if err := s.read(&key); err != nil {
			return err
		}
		return each(key)
	})
}

// elements calls each before every element of the array that comes next; each must read the
// element. A null array has zero elements.
func (s *stream) elements(each func() error) error { return s.within('[', each) }

func (s *stream) within(begin byte, each func() error) error {
	switch first := s.peek(); first {
	case begin:
		s.at++
	case 'n': // null
		s.next()
		return nil
	default:
		return fmt.Errorf("answer not understood: %q where a %q should be", first, begin)
	}
	for {
		switch s.peek() {
		case 0:
			return notUnderstood(errors.New("it breaks off"))
		case '}', ']':
			s.at++
			return nil
		}
		if err := each(); err != nil {
			return err
		}
	}
}

func notUnderstood(err error) error {
	if err != nil {
		return fmt.Errorf("answer not understood: %w", err)
	}
	return nil
}
