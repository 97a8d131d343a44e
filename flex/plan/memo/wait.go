package memo

import (
	"regexp"
	"strconv"
	"time"
)

// waitForm matches the limit that a job's owner sets in --comment on the wait for machines. Five
// digits of days cannot overflow a Duration.
var waitForm = regexp.MustCompile(`(?:^|[\s,;])slurmflex:wait=([1-9]\d{0,4})([smhd])(?:,(requeue|hold|cancel))?(?:$|[\s,;])`)

// signalForm matches the word in a job's --comment that asks for a signal before its nodes end.
var signalForm = regexp.MustCompile(`(?:^|[\s,;])slurmflex:signal(?:$|[\s,;])`)

// AsksSignal reports whether a job's --comment contains the word slurmflex:signal, which means that
// its script catches the signal: it kills any other script. Slurm does not show the --signal option (22.05.8 and 24.11.5;
// 26.05.5 shows the submit line, without #SBATCH lines).
func AsksSignal(comment string) bool { return signalForm.MatchString(comment) }

// OwnersWait parses the longest wait for machines that a job's --comment allows, such as
// slurmflex:wait=90m or slurmflex:wait=90m,cancel among other words; 0 if it sets none. Units are
// s, m, h and d. It also returns what happens to the job afterwards: requeue, hold, cancel, or
// empty.
func OwnersWait(comment string) (wait time.Duration, then string) {
	found := waitForm.FindStringSubmatch(comment)
	if found == nil {
		return 0, ""
	}
	n, _ := strconv.Atoi(found[1]) // waitForm lets only digits through
	return time.Duration(n) * map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[found[2]], found[3]
}
