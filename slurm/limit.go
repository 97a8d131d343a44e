package slurm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// LimitKind is the kind of time limit that Slurm printed.
type LimitKind uint8

const (
	// LimitUnknown is a limit that is missing, not understood, or set elsewhere.
	LimitUnknown LimitKind = iota
	// LimitSet is a limit with a duration.
	LimitSet
	// Unlimited means that there is no limit.
	Unlimited
)

// Limit is a time limit. Duration is valid only if Kind is LimitSet.
type Limit struct {
	Kind     LimitKind
	Duration time.Duration // whole seconds, at most 99,999 days
}

// limitForm matches [[days-]hours:]minutes:seconds. Its five digits of days cannot overflow a
// Duration.
var limitForm = regexp.MustCompile(`^(?:(?:(\d{1,5})-)?([01]?\d|2[0-3]):)?([0-5]?\d):([0-5]\d)$`)

// ParseLimit parses a time limit as printed by squeue (30:00, 1:40:00, 1-02:04:00) or scontrol
// (00:30:00, 7-00:00:00), including UNLIMITED and INFINITE. Any other text, such as
// Partition_Limit, INVALID, NOT_SET or N/A, is an unknown limit.
func ParseLimit(text string) Limit {
	if text == "UNLIMITED" || text == "INFINITE" {
		return Limit{Kind: Unlimited}
	}
	fields := limitForm.FindStringSubmatch(text)
	if fields == nil {
		return Limit{}
	}
	units := [...]time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}
	limit := Limit{Kind: LimitSet}
	for i, digits := range fields[1:] {
		n, _ := strconv.Atoi("0" + digits) // limitForm allows only digits
		limit.Duration += time.Duration(n) * units[i]
	}
	return limit
}

// ParseSeconds parses a time in seconds, as in slurm.conf or scontrol's output: "400", "60 sec",
// INFINITE, "-1". Any other text, such as GLOBAL, is an unknown limit.
func ParseSeconds(text string) Limit {
	switch strings.ToUpper(text) {
	case "UNLIMITED", "INFINITE", "NONE", "-1":
		return Limit{Kind: Unlimited}
	}
	seconds, err := strconv.ParseUint(strings.TrimSuffix(text, " sec"), 10, 32)
	if err != nil {
		return Limit{}
	}
	return Limit{Kind: LimitSet, Duration: time.Duration(seconds) * time.Second}
}

// String returns the limit as scontrol prints it. ParseLimit accepts the result.
func (l Limit) String() string {
	switch l.Kind {
	case Unlimited:
		return "UNLIMITED"
	case LimitSet:
		clock := l.Duration % (24 * time.Hour)
		text := fmt.Sprintf("%02d:%02d:%02d", clock/time.Hour, clock%time.Hour/time.Minute, clock%time.Minute/time.Second)
		if days := l.Duration / (24 * time.Hour); days > 0 {
			text = fmt.Sprintf("%d-%s", days, text)
		}
		return text
	default:
		return "unknown"
	}
}

// Clock formats a duration as Slurm formats time limits: 2:00:00, 7-00:00:00.
func Clock(d time.Duration) string {
	return Limit{Kind: LimitSet, Duration: d}.String()
}
