package fakeslurm

import "slices"

// fromRuns chooses count of these nodes, which are in order. It takes them from the shortest
// sufficient run of consecutive nodes. If no run suffices, it takes the longest run first and
// continues with the rest. It returns fewer if there are too few.
func fromRuns(nodes []*node, count int) (chosen []*node) {
	runs := runsOf(nodes)
	for len(chosen) < count && len(runs) > 0 {
		at := bestRun(runs, count-len(chosen))
		chosen = append(chosen, runs[at][:min(len(runs[at]), count-len(chosen))]...)
		runs = slices.Delete(runs, at, at+1)
	}
	return chosen
}

// bestRun finds the shortest run of at least count nodes, or else the longest run.
func bestRun(runs [][]*node, count int) (best int) {
	for i, run := range runs {
		enough, had := len(run) >= count, len(runs[best]) >= count
		if enough && (!had || len(run) < len(runs[best])) || !enough && !had && len(run) > len(runs[best]) {
			best = i
		}
	}
	return best
}

// runsOf splits ordered nodes into runs of consecutive nodes.
func runsOf(nodes []*node) (runs [][]*node) {
	for i, n := range nodes {
		if i == 0 || n.order != nodes[i-1].order+1 {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], n)
	}
	return runs
}
