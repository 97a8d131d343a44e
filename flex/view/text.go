package view

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"slurmflex/slurm"
)

// Clip shortens text to a number of characters without splitting a number. Shortened text ends in
// an ellipsis.
func Clip(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	runes := []rune(text)
	cut := string(runes[:width-1])
	if unicode.IsDigit(runes[width-1]) {
		cut = strings.TrimRight(cut, "0123456789")
	}
	return strings.TrimRight(cut, " ") + "…"
}

// clipStart shortens text like Clip but keeps its end, which distinguishes nodes.
func clipStart(text string, width int) string { return reversed(Clip(reversed(text), width)) }

func reversed(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

// Printable replaces characters that a terminal would take for a command, because messages come
// from foreign sources.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// Span formats a duration in its two largest units: 45s, 12m, 1h30m, 2d03h.
func Span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// Moment formats a time in the zone of now, for use after "at" or "until". On the same day it shows
// only the time of day.
func Moment(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04:05")
	case t.Year() == now.Year():
		return t.Format("15:04 on Jan 2")
	}
	return t.Format("15:04 on Jan 2, 2006")
}

// Limit formats a lease or a time limit as Slurm does: 02:00:00, 7-00:00:00.
func (s Seconds) Limit() string {
	return slurm.Clock(time.Duration(s))
}

// Wrap breaks a text into lines of at most width characters. Each line starts with the indent,
// followed by the text's own leading spaces.
func Wrap(text, indent string, width int) string {
	indent += text[:len(text)-len(strings.TrimLeft(text, " "))]
	var lines strings.Builder
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = indent + word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return lines.String() + line + "\n"
}

// Count formats a number of things.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
