package main

// failure is an error in the world around slurmflex, in a panic: it ends what
// was attempted and says nothing of slurmflex.
type failure struct{ error }

// must ends an attempt that cannot go on.
func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// sure is a value without which an attempt cannot go on.
func sure[T any](value T, err error) T {
	must(err)
	return value
}

// attempt does something and returns the failure that ended it.
func attempt(do func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	do()
	return nil
}
