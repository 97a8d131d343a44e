package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// row is one measured value. Lower is better in every unit.
type row struct {
	name   string
	value  float64
	unit   string
	target float64 // maximum
}

const (
	mebibyte    = 1 << 20
	millisecond = float64(time.Millisecond)
)

// median returns the median of at least one value.
func median[T ~int64 | ~float64](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// write writes the rows for people, and returns errShort if one misses its target.
func write(out io.Writer, rows []row) error {
	t, short := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), 0
	for _, r := range rows {
		verdict := "ok"
		if r.value > r.target {
			verdict = "short"
			short++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t≤ %s\t%s\n", r.name, figure(r.value), r.unit, figure(r.target), verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "bench: %d rows, %d short\n", len(rows), short)
	if short > 0 {
		return errShort
	}
	return nil
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
