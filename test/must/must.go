// Package must ends what a harness attempts at the first thing in the world
// around slurmflex that goes wrong, as FailNow ends a test: by a panic, which is
// caught where the attempt began.
package must

// failure is the error that ends an attempt.
type failure struct{ error }

// Do ends the attempt if there is an error.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is a value without which the attempt ends.
func Get[T any](value T, err error) T {
	Do(err)
	return value
}

// Try attempts something and returns the error that ended it.
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
