package slurm

import (
	"fmt"
	"strconv"
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
// bracket, which Slurm does not. An empty hostlist and "(null)" have no names. A malformed hostlist
// is an error. A hostlist of more than MaxHosts names is also an error, returned before any
// expansion.
func Expand(hostlist string) ([]string, error) {
	if hostlist == "" || hostlist == "(null)" {
		return nil, nil
	}
	scan := hostScanner{text: hostlist}
	patterns, total, err := scan.patterns()
	if err != nil {
		return nil, fmt.Errorf("hostlist %s: %w", quote(hostlist), err)
	}
	names := make([]string, 0, total)
	buf := make([]byte, 0, maxHostName)
	for _, p := range patterns {
		names = p.appendNames(names, buf)
	}
	return names, nil
}

// hostPattern is one element of a hostlist: literal text and brackets, in order.
type hostPattern []hostPart

// hostPart is a bracket if it has spans, and literal text otherwise.
type hostPart struct {
	literal string
	spans   []hostSpan
}

// longest returns the length of the longest text that the part can expand to.
func (p hostPart) longest() int {
	longest := len(p.literal)
	for _, span := range p.spans {
		longest = max(longest, span.width, len(strconv.FormatUint(span.high, 10)))
	}
	return longest
}

// hostSpan is a range in brackets, printed with at least width digits.
type hostSpan struct {
	low, high uint64
	width     int
}

func (p hostPattern) appendNames(names []string, prefix []byte) []string {
	if len(p) == 0 {
		return append(names, string(prefix))
	}
	part, rest := p[0], p[1:]
	if part.spans == nil {
		return rest.appendNames(names, append(prefix, part.literal...))
	}
	for _, span := range part.spans {
		for n := span.low; n <= span.high; n++ {
			names = rest.appendNames(names, appendPadded(prefix, n, span.width))
		}
	}
	return names
}

func appendPadded(b []byte, n uint64, width int) []byte {
	var scratch [20]byte
	digits := strconv.AppendUint(scratch[:0], n, 10)
	for range width - len(digits) {
		b = append(b, '0')
	}
	return append(b, digits...)
}

// hostScanner reads a hostlist from left to right.
type hostScanner struct {
	text string
	pos  int
}

// patterns reads the whole hostlist and counts its names.
func (s *hostScanner) patterns() (patterns []hostPattern, total uint64, err error) {
	for {
		p, count, err := s.pattern()
		if err != nil {
			return nil, 0, err
		}
		total += count
		if total > MaxHosts {
			return nil, 0, errTooManyHosts
		}
		patterns = append(patterns, p)
		if s.pos == len(s.text) {
			return patterns, total, nil
		}
		s.pos++ // skips the comma
	}
}

// pattern reads one element, up to a comma outside brackets, and counts its names.
func (s *hostScanner) pattern() (p hostPattern, count uint64, err error) {
	start := s.pos
	count = 1
	longest := 0
	for s.pos < len(s.text) && s.text[s.pos] != ',' {
		part, choices, err := s.part()
		if err != nil {
			return nil, 0, err
		}
		if count *= choices; count > MaxHosts {
			return nil, 0, errTooManyHosts
		}
		p = append(p, part)
		longest += part.longest()
	}
	if longest == 0 {
		return nil, 0, s.wrong(start, "an empty name")
	}
	if longest > maxHostName {
		return nil, 0, s.wrong(start, fmt.Sprintf("a name longer than %d characters", maxHostName))
	}
	return p, count, nil
}

// part reads literal text or a bracket. choices is at most MaxHosts.
func (s *hostScanner) part() (part hostPart, choices uint64, err error) {
	if s.at('[') {
		part.spans, choices, err = s.bracket()
		return part, choices, err
	}
	part.literal, err = s.literal()
	return part, 1, err
}

func (s *hostScanner) literal() (string, error) {
	start := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if c == ',' || c == '[' {
			break
		}
		if !isHostByte(c) {
			return "", s.wrong(s.pos, fmt.Sprintf("%q cannot be in a node name", c))
		}
		s.pos++
	}
	return s.text[start:s.pos], nil
}

func isHostByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '_' || c == '.'
}

// bracket reads "[08-10,12]" and counts its numbers.
func (s *hostScanner) bracket() (spans []hostSpan, count uint64, err error) {
	open := s.pos
	s.pos++
	for {
		start := s.pos
		low, width, err := s.number()
		if err != nil {
			return nil, 0, err
		}
		span := hostSpan{low: low, high: low, width: width}
		if s.at('-') {
			s.pos++
			if span.high, _, err = s.number(); err != nil {
				return nil, 0, err
			}
		}
		if span.high < span.low {
			return nil, 0, s.wrong(start, fmt.Sprintf("the range %s runs backwards", clip(s.text[start:s.pos], maxQuoted)))
		}
		spans = append(spans, span)
		count += span.high - span.low + 1
		if count > MaxHosts {
			return nil, 0, errTooManyHosts
		}
		switch {
		case s.at(','):
			s.pos++
		case s.at(']'):
			s.pos++
			return spans, count, nil
		case s.pos == len(s.text):
			return nil, 0, s.wrong(open, "a bracket that is never closed")
		default:
			return nil, 0, s.wrong(s.pos, fmt.Sprintf("%q in brackets", s.text[s.pos]))
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
