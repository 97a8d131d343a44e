package setup

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// timeForms are the forms of sbatch --time. Source: sbatch(1).
var timeForms = []struct {
	form  *regexp.Regexp
	units []time.Duration
}{
	{regexp.MustCompile(`^(\d{1,6})$`), []time.Duration{time.Minute}},
	{regexp.MustCompile(`^(\d{1,6}):(\d{1,2})$`), []time.Duration{time.Minute, time.Second}},
	{regexp.MustCompile(`^(\d{1,5}):(\d{1,2}):(\d{1,2})$`), []time.Duration{time.Hour, time.Minute, time.Second}},
	{regexp.MustCompile(`^(\d{1,4})-(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}))?)?$`), []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}},
}

// parseTime parses a time limit in the format of sbatch --time: 30, 30:00, 1:30:00, 2-12, 2-12:30,
// 2-12:30:00. The result is at least one second.
func parseTime(text string) (time.Duration, error) {
	for _, f := range timeForms {
		fields := f.form.FindStringSubmatch(text)
		if fields == nil {
			continue
		}
		var limit time.Duration
		for i, digits := range fields[1:] {
			n, _ := strconv.Atoi("0" + digits) // the form allows only digits
			limit += time.Duration(n) * f.units[i]
		}
		if limit > 0 {
			return limit, nil
		}
	}
	return 0, fmt.Errorf("time %q: must be in the format of sbatch --time, such as 90, 4:00:00 or 2-12:00:00", text)
}
