package config

import (
	"errors"
	"fmt"
)

// misuse marks an error as wrong usage: a wrong call, or an unusable configuration. Programs exit with
// another status for it than for a failure.
type misuse struct{ error }

func (e misuse) Unwrap() error { return e.error }

// Misuse marks an error as wrong usage; nil remains nil.
func Misuse(err error) error {
	if err == nil {
		return nil
	}
	return misuse{err}
}

// Misusef returns an error about wrong usage.
func Misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// IsMisuse reports whether an error is about wrong usage.
func IsMisuse(err error) bool {
	var wrong misuse
	return errors.As(err, &wrong)
}
