package view

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Held lists the jobs that slurmflex has held. Jobs with the same reason are listed together.
func (v View) Held() []string {
	var words []string
	// These map a reason to the jobs to name, and to the jobs to release.
	told, let := map[string][]string{}, map[string][]string{}
	for _, j := range v.Jobs {
		if !slurm.JobState(j.State).Waits() || !j.isHeldByUs() || len(v.setsOf(j.Partition)) == 0 {
			continue
		}
		if told[j.Told] == nil {
			words = append(words, j.Told)
		}
		told[j.Told] = append(told[j.Told], j.Name())
		if !slices.Contains(let[j.Told], j.address()) {
			let[j.Told] = append(let[j.Told], j.address())
		}
	}
	for i, word := range words {
		noun, jobs := "job", strings.Join(told[word], ",")
		if len(told[word]) > 1 {
			noun = "jobs"
		}
		words[i] = fmt.Sprintf("held: %s %s: %s. Once fixed: scontrol release %s",
			noun, jobs, strings.TrimSuffix(memo.Text(word), "."), strings.Join(let[word], ","))
	}
	return words
}
