// Package must ends a harness's attempt at the first failure in the world around slurmflex, as
// FailNow ends a test. It panics, and Try recovers where the attempt started.
package must

import "os"

// failure is the error that ends an attempt.
type failure struct{ error }

// Do ends the attempt if err is not nil.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get returns value, or ends the attempt if err is not nil.
func Get[T any](value T, err error) T {
	Do(err)
	return value
}

// Text returns the text of a file, or ends the attempt.
func Text(path string) string { return string(Get(os.ReadFile(path))) }

// Try runs attempt and returns the error that ended it, or nil.
func Try(attempt func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	attempt()
	return nil
}
