package slurm

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

// SurelyFits reports whether a node of its own is certain to have what the job requests of it:
// features, GRES, CPUs and memory. It is false where that is not certain, as for alternatives of
// features, and for a job that requests or excludes nodes by name.
func (j Job) SurelyFits(n Node) bool {
	return len(j.Needs) == 0 && !slices.Contains(j.Excludes, n.Name) && j.FitsAlike(n)
}

// FitsAlike is SurelyFits without regard to the nodes that the job requests or excludes by name.
func (j Job) FitsAlike(n Node) bool {
	if j.NodeCount <= 0 || !hasFeatures(n.Features, j.Features) || !hasGres(n.Gres, j.Gres) {
		return false
	}
	cpus := j.cpusOfEach()
	memory, known := memoryOf(j.Memory, cpus)
	return known && (cpus <= 1 || n.CPUs >= cpus) && (memory == 0 || n.Memory >= memory)
}

// MayFit reports whether FitsAlike is true, or alternatives of features leave it open.
func (j Job) MayFit(n Node) bool { return j.FitsAlike(n) || strings.ContainsAny(j.Features, " [(*") }

// cpusOfEach returns how many CPUs the job requests of each node, rounded up.
func (j Job) cpusOfEach() int {
	return max(j.NodeCPUs, (j.CPUs+max(j.NodeCount, 1)-1)/max(j.NodeCount, 1))
}

// Digest returns eight hexadecimal digits that change with what the job requests: the number of nodes,
// and features, GRES, CPUs and memory of each. squeue shows the same for a waiting job before its plan, behind its
// door, and requeued (tried on 22.05 and 26.05); only the prefix of GRES depends on the release.
func (j Job) Digest() string {
	gres := strings.NewReplacer("gres/", "", "gres:", "").Replace(j.Gres)
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %q %q %d %q", j.NodeCount, j.Features, gres, j.cpusOfEach(), j.Memory)))
}

// hasFeatures reports whether the features include all that a constraint requests, or one of its
// alternatives. It reports false for a constraint with both, or with other operators.
func hasFeatures(features []string, constraint string) bool {
	if either := strings.Fields(constraint); len(either) > 1 && !strings.ContainsAny(constraint, "&[(*") {
		return slices.ContainsFunc(either, func(word string) bool { return slices.Contains(features, word) })
	}
	if constraint == "" {
		return true
	}
	for word := range strings.SplitSeq(constraint, "&") {
		if !slices.Contains(features, word) {
			return false
		}
	}
	return true
}

// hasGres reports whether a node's GRES, such as gpu:h100:8(S:0-1), include all that a job requests
// of each node, such as gres/gpu:h100:8 or gres:gpu:8.
func hasGres(has, requests string) bool {
	for _, wants := range ParseGres(requests) {
		sum := 0
		for _, g := range ParseGres(has) {
			if g.Name == wants.Name && (wants.Type == "" || g.Type == wants.Type) {
				sum += g.Count
			}
		}
		if wants.Name == "" || sum < wants.Count {
			return false
		}
	}
	return true
}

// memoryOf returns how many MiB of a node a job with so many CPUs there requests, and whether the
// text is understood.
func memoryOf(text string, cpus int) (mib int, known bool) {
	if text == "" || text == "0" {
		return 0, true
	}
	each := strings.TrimRight(text, "cn")
	times := 1
	if strings.HasSuffix(text, "c") {
		times = max(cpus, 1)
	}
	unit := 1.0
	switch each[max(len(each)-1, 0):] {
	case "K":
		unit = 1.0 / 1024
	case "G":
		unit = 1024
	case "T":
		unit = 1024 * 1024
	}
	number, err := strconv.ParseFloat(strings.TrimRight(each, "KMGT"), 64)
	return int(number * unit * float64(times)), err == nil && number >= 0
}
