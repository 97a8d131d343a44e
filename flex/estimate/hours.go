package estimate

import "time"

// Hours is a part of the week.
type Hours uint8

// The parts of the week.
const (
	AnyHours Hours = iota
	Working        // Monday to Friday, 8:00 to 18:00
	Night          // the rest of these days
	Weekend        // Saturday and Sunday
)

// hoursOf returns the part of the week that contains a local time.
func hoursOf(local time.Time) Hours {
	switch day := local.Weekday(); {
	case day == time.Saturday || day == time.Sunday:
		return Weekend
	case local.Hour() >= 8 && local.Hour() < 18:
		return Working
	}
	return Night
}

// String describes the hours at the end of a list of conditions.
func (h Hours) String() string {
	return [...]string{"", "weekdays 8:00 to 18:00", "weekdays 18:00 to 8:00", "weekends"}[h]
}
