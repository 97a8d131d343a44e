package slurm

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"
)

// maxQuoted is the maximum length, in bytes, of Slurm's output in an error message.
const maxQuoted = 80

// clip shortens text to at most that many bytes, plus an ellipsis.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// quote formats text for an error message: on one line, shortened.
func quote(text string) string {
	return fmt.Sprintf("%q", clip(text, maxQuoted))
}

// wordAfter returns the word after the first " key=" in a line, or after a "key=" at its start; ""
// if the key is missing. Use it only on parts of a line without free text.
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

// timeLayout is scontrol's time format. The time zone is that of the variable TZ.
const timeLayout = "2006-01-02T15:04:05"

// farForm matches a time after 9999, which any user may set with sbatch --begin. Such a year has
// more digits. If the year exceeds 32 bits, Slurm prints random memory in place of the rest (22.05:
// 1623969404-25-32756T01:46:39).
var farForm = regexp.MustCompile(`^(?:\d{5,}|-\d+)-[-\dT:]+$`)

// Far stands for every later time. Any time.Duration added to it is before the year 9999, the last
// year that JSON and RFC 3339 support.
var Far = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)

// parseTime parses a time that Slurm's commands printed under TZ=UTC. None, Unknown and N/A are the
// zero time. A time after Far becomes Far.
func parseTime(value string) (time.Time, error) {
	switch value {
	case "", "None", "Unknown", "N/A", "(null)":
		return time.Time{}, nil
	}
	t, err := time.Parse(timeLayout, value)
	switch {
	case err != nil && !farForm.MatchString(value):
		return time.Time{}, fmt.Errorf("time %s: not like %s", quote(value), timeLayout)
	case err != nil || t.After(Far):
		return Far, nil
	}
	return t, nil
}

// timeOf returns the time after the first " key=" in a line; zero if the key is missing.
func timeOf(line, key string) (time.Time, error) {
	t, err := parseTime(wordAfter(line, key))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", key, err)
	}
	return t, nil
}

// cutAtKeys returns the free text before the first " key=" of any of the keys.
func cutAtKeys(text string, keys ...string) string {
	for _, key := range keys {
		text, _, _ = cutKey(text, key)
	}
	return text
}

// freeText returns the text after the first " key=" in a line, up to any key of next; "" if the key
// is missing.
func freeText(line, key string, next ...string) string {
	_, text, found := cutKey(line, key)
	if !found {
		return ""
	}
	return strings.TrimSpace(cutAtKeys(text, next...))
}

// readShown parses the output of scontrol -o show. Each line is a record that starts with a key and
// a name. Empty output is an error. none is the text that the command prints, with exit status 0,
// instead of records.
func readShown[T any](command string, out []byte, none, key string, read reader[T]) ([]T, error) {
	text := unsafe.String(unsafe.SliceData(out), len(out)) // no copy: out may have megabytes
	switch strings.TrimSpace(text) {
	case none:
		return nil, nil
	case "":
		return nil, fmt.Errorf("%s: no output", command)
	}
	return readRows(command, text, func(line string) bool { return strings.HasPrefix(line, key+"=") }, read)
}
