package gce

import (
	"cmp"
	"regexp"
	"strconv"

	"slurmflex/mig"
)

// usedUpForm matches Google's message about a quota. Answers to calls have no other details of the
// quota.
var usedUpForm = regexp.MustCompile(`[Qq]uota '([^']+)' exceeded\.?(?:\s+Limit: ([0-9.]*[0-9]))?(?: in region ([a-z0-9-]+))?`)

// usedUpIn returns the quota in the last fault that names one; zero if none does.
func usedUpIn(faults []fault) (last mig.UsedUp) {
	for _, f := range faults {
		if f.cause(creating) != mig.CauseQuota {
			continue
		}
		q := f.quota
		if m := usedUpForm.FindStringSubmatch(f.message); m != nil {
			limit, _ := strconv.ParseFloat(m[2], 64) // 0: unknown
			q = mig.UsedUp{Metric: m[1], Limit: cmp.Or(q.Limit, limit), Region: cmp.Or(q.Region, m[3])}
		}
		if q.Metric != "" {
			last = q
		}
	}
	return last
}
