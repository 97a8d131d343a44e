package cost

import (
	"errors"
	"fmt"
	"time"

	"slurmflex/flex/history"
)

// Period returns the billed period for the command's flags: a month, or the time between two
// moments, all in local time. 0 means no bound.
func Period(month, fromText, toText string) (from, to history.Time, err error) {
	if month != "" {
		if fromText != "" || toText != "" {
			return 0, 0, errors.New("--month cannot be combined with --from or --to")
		}
		first, err := time.ParseInLocation("2006-01", month, time.Local)
		if err != nil {
			return 0, 0, fmt.Errorf("--month %s: must be a month, such as 2026-11", month)
		}
		return history.At(first), history.At(first.AddDate(0, 1, 0)), nil
	}
	if from, err = moment("--from", fromText); err != nil {
		return 0, 0, err
	}
	if to, err = moment("--to", toText); err != nil {
		return 0, 0, err
	}
	if from != 0 && to != 0 && to <= from {
		return 0, 0, fmt.Errorf("--to %s is not after --from %s", toText, fromText)
	}
	return from, to, nil
}

// moment parses a local time; 0 if the text is empty.
func moment(flag, text string) (history.Time, error) {
	if text == "" {
		return 0, nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return history.At(at), nil
		}
	}
	return 0, fmt.Errorf("%s %s: must be a day or a time, such as 2026-11-01 or 2026-11-01T12:00:00", flag, text)
}
