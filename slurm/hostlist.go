package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// MaxHosts is the largest number of names in one hostlist. Slurm itself allows at most 65,533
	// nodes in a cluster.
	MaxHosts = 1 << 18

	// maxHostName is the longest node name, in bytes: the length of a full domain name.
	maxHostName = 253

	// maxHostDigits is the longest run of digits that counts as a number. Every such number fits a
	// uint64.
	maxHostDigits = 18
)

var errTooManyHosts = fmt.Errorf("more than %d names", MaxHosts)

// Expand returns the names in a hostlist such as "rack[0-1]n[08-10],login", in its order and with
// its duplicates. It reads everything that Slurm prints. It also accepts a suffix after the last
// bracket, which Slurm does not. For an empty hostlist and "(null)" it returns nil. A malformed
// hostlist, or one of more than MaxHosts names, is an error.
func Expand(hostlist string) ([]string, error) {
	if hostlist == "" || hostlist == "(null)" {
		return nil, nil
	}
	scan := hostScanner{text: hostlist}
	for {
		if err := scan.pattern(); err != nil {
			return nil, fmt.Errorf("hostlist %s: %w", quote(hostlist), err)
		}
		if scan.pos == len(hostlist) {
			return scan.names, nil
		}
		scan.pos++ // skips the comma
	}
}

// hostScanner reads a hostlist from left to right.
type hostScanner struct {
	text  string
	pos   int
	names []string // of the elements before pos
}

// pattern reads one element, up to a comma outside brackets, and adds its names.
func (s *hostScanner) pattern() error {
	start, names := s.pos, []string{""}
	for s.pos < len(s.text) && s.text[s.pos] != ',' {
		parts, err := s.part()
		if err != nil {
			return err
		}
		if len(s.names)+len(names)*len(parts) > MaxHosts {
			return errTooManyHosts
		}
		longer := make([]string, 0, len(names)*len(parts))
		for _, name := range names {
			for _, part := range parts {
				if len(name)+len(part) > maxHostName {
					return s.wrong(start, fmt.Sprintf("a name longer than %d characters", maxHostName))
				}
				longer = append(longer, name+part)
			}
		}
		names = longer
	}
	if s.pos == start {
		return s.wrong(start, "an empty name")
	}
	s.names = append(s.names, names...)
	return nil
}

// part reads literal text or a bracket, and returns the texts that it stands for: at most MaxHosts.
func (s *hostScanner) part() ([]string, error) {
	if s.at('[') {
		return s.bracket()
	}
	start := s.pos
	for s.pos < len(s.text) && !s.at(',') && !s.at('[') {
		if c := s.text[s.pos]; !isHostByte(c) {
			return nil, s.wrong(s.pos, fmt.Sprintf("%q cannot be in a node name", c))
		}
		s.pos++
	}
	return []string{s.text[start:s.pos]}, nil
}

func isHostByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '_' || c == '.'
}

// bracket reads "[08-10,12]".
func (s *hostScanner) bracket() (numbers []string, err error) {
	open := s.pos
	s.pos++
	for {
		start := s.pos
		low, width, err := s.number()
		if err != nil {
			return nil, err
		}
		high := low
		if s.at('-') {
			s.pos++
			if high, _, err = s.number(); err != nil {
				return nil, err
			}
		}
		if high < low {
			return nil, s.wrong(start, fmt.Sprintf("the range %s runs backwards", clip(s.text[start:s.pos], maxQuoted)))
		}
		if uint64(len(numbers))+high-low >= MaxHosts {
			return nil, errTooManyHosts
		}
		for n := low; n <= high; n++ {
			digits := strconv.FormatUint(n, 10)
			numbers = append(numbers, strings.Repeat("0", max(width-len(digits), 0))+digits)
		}
		switch {
		case s.at(','):
			s.pos++
		case s.at(']'):
			s.pos++
			return numbers, nil
		case s.pos == len(s.text):
			return nil, s.wrong(open, "a bracket that is never closed")
		default:
			return nil, s.wrong(s.pos, fmt.Sprintf("%q in brackets", s.text[s.pos]))
		}
	}
}

// number reads digits and returns their number as width.
func (s *hostScanner) number() (n uint64, width int, err error) {
	start := s.pos
	for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
		s.pos++
	}
	digits := s.text[start:s.pos]
	if digits == "" {
		return 0, 0, s.wrong(start, "a number is missing")
	}
	if len(digits) > maxHostDigits {
		return 0, 0, s.wrong(start, fmt.Sprintf("a number of more than %d digits", maxHostDigits))
	}
	n, err = strconv.ParseUint(digits, 10, 64)
	return n, len(digits), err
}

func (s *hostScanner) at(c byte) bool {
	return s.pos < len(s.text) && s.text[s.pos] == c
}

// wrong returns an error that names the problem and its position. Characters count from 1.
func (s *hostScanner) wrong(pos int, what string) error {
	return fmt.Errorf("%s at character %d", what, pos+1)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
