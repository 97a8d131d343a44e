package view

import (
	"fmt"
	"strconv"
	"strings"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// Held names the jobs that are held and that slurmflex has told why, those
// together that it has told the same.
func (v View) Held() []string {
	var words []string
	told := map[string][]string{}
	for _, j := range v.Jobs {
		if j.Told == "" || j.State != string(slurm.JobPending) || j.Reason != "JobHeldAdmin" || len(v.setsOf(j.Partition)) == 0 {
			continue
		}
		if told[j.Told] == nil {
			words = append(words, j.Told)
		}
		told[j.Told] = append(told[j.Told], strconv.FormatUint(uint64(j.ID), 10))
	}
	for i, word := range words {
		noun, jobs := "job", strings.Join(told[word], ",")
		if len(told[word]) > 1 {
			noun = "jobs"
		}
		words[i] = fmt.Sprintf("held: %s %s: %s; when that is mended: scontrol release %s",
			noun, jobs, strings.TrimSuffix(strings.TrimPrefix(word, plan.OwnComment), "."), jobs)
	}
	return words
}
