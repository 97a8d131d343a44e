package memory

import "time"

// Throttles remembers, by array, the throttles that squeue does not show. Only passes use it, one
// after the other.
type Throttles map[uint32]Throttle

// Throttle is how many tasks of an array may run at once; 0: any number.
type Throttle struct {
	Most int
	Read time.Time
}
