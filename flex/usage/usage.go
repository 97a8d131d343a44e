// Package usage marks errors as wrong usage: a wrong call, or an unusable configuration. Programs
// exit with another status for them than for a failure.
package usage

import (
	"errors"
	"fmt"
)

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Wrap marks an error as wrong usage; nil remains nil.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Errorf returns an error about wrong usage.
func Errorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Is reports whether an error is about wrong usage.
func Is(err error) bool {
	var wrong usageError
	return errors.As(err, &wrong)
}
