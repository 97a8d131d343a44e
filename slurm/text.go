package slurm

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// maxQuoted is how much of Slurm's output an error repeats, in bytes.
const maxQuoted = 80

// clip cuts text for an error message.
func clip(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// quote shows text in an error message on one line, cut short.
func quote(text string) string {
	return fmt.Sprintf("%q", clip(text))
}

// wordAfter is the word after the first " key=" in a line, or after a "key="
// at its start; "" when there is none. It is meant for stretches of a line
// without free text.
func wordAfter(line, key string) string {
	_, rest, _ := cutKey(line, key)
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// cutKey cuts a line around the first " key=", or around a "key=" at its start.
func cutKey(line, key string) (before, after string, found bool) {
	if rest, found := strings.CutPrefix(line, key+"="); found {
		return "", rest, true
	}
	return strings.Cut(line, " "+key+"=")
}

// countKey counts " key=" in a line.
func countKey(line, key string) int {
	return strings.Count(line, " "+key+"=")
}

// notNull turns Slurm's "(null)" into "".
func notNull(value string) string {
	if value == "(null)" {
		return ""
	}
	return value
}

// splitList splits a comma-separated value; "(null)" and "" have no items.
func splitList(value string) []string {
	if notNull(value) == "" {
		return nil
	}
	return strings.Split(value, ",")
}

// timeLayout is how scontrol prints a time, in the zone of its TZ.
const timeLayout = "2006-01-02T15:04:05"

// parseTime reads a time that Slurm's commands printed under TZ=UTC; None,
// Unknown and N/A are the zero time.
func parseTime(value string) (time.Time, error) {
	switch value {
	case "", "None", "Unknown", "N/A", "(null)":
		return time.Time{}, nil
	}
	t, err := time.Parse(timeLayout, value)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %s: not like %s", quote(value), timeLayout)
	}
	return t, nil
}

// timeOf is the time after the first " key=" in a line, zero when there is none.
func timeOf(line, key string) (time.Time, error) {
	t, err := parseTime(wordAfter(line, key))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", key, err)
	}
	return t, nil
}

// cutAtKeys gives the free text up to the first " key=" of any of the keys.
func cutAtKeys(text string, keys ...string) string {
	for _, key := range keys {
		text, _, _ = cutKey(text, key)
	}
	return text
}

// freeText is the text after the first " key=" in a line, up to any of the keys
// that may follow it; "" when there is none.
func freeText(line, key string, next ...string) string {
	_, text, _ := cutKey(line, key)
	return strings.TrimSpace(cutAtKeys(text, next...))
}

// eachRecord calls read for every line that a command printed, where each line
// is a record. No output is an error; none is what the command prints, with
// exit status 0, when there are no records.
func eachRecord(command string, out []byte, none string, read func(line string) error) error {
	text := strings.TrimSpace(string(out))
	if text == none {
		return nil
	}
	if text == "" {
		return fmt.Errorf("%s: no output", command)
	}
	if err := eachLine(text, read); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

// eachLine calls read for every line of a command's output, and wraps its
// error with the line's number, from 1, and its beginning.
func eachLine(out string, read func(line string) error) error {
	number := 0
	for line := range strings.Lines(out) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if err := read(line); err != nil {
			return fmt.Errorf("line %d, %s: %w", number, quote(line), err)
		}
	}
	return nil
}
