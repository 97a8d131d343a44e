package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// row is one measured value. Lower is better in every unit.
type row struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Target float64 `json:"target"` // maximum
	OK     bool    `json:"ok"`
}

const (
	mebibyte    = 1 << 20
	millisecond = float64(time.Millisecond)
)

// median returns the median of at least one value.
func median[T ~int64 | ~float64](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// writeTable writes the rows for people and the number of missed targets.
func writeTable(out io.Writer, rows []row) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		verdict := "ok"
		if !r.OK {
			verdict = "short"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t≤ %s\t%s\n", r.Name, figure(r.Value), r.Unit, figure(r.Target), verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "bench: %d rows, %d short\n", len(rows), short(rows))
	return err
}

// figure formats a value with a useful number of digits.
func figure(v float64) string {
	digits := 2
	switch {
	case v == float64(int64(v)), v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func short(rows []row) (n int) {
	for _, r := range rows {
		if !r.OK {
			n++
		}
	}
	return n
}

// writeJSON writes the rows as JSON.
func writeJSON(out io.Writer, rows []row) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(rows)
}
