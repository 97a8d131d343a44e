package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
)

// need is the part of a quota that the nodesets of a region use when all their nodes exist.
type need struct {
	region      string
	machine     mig.MachineType // of the first of sets, with the type of GPUs of all
	onDemand    bool
	sets        []*config.NodeSet
	nodes, gpus int
}

// quotas compares the largest possible use of the nodesets with the project's quotas. Compute does
// not show every quota with its region. Quotas that it does not show are skipped.
func (j *judge) quotas() {
	for _, n := range j.needs() {
		r := j.world.Regions[n.region].Is
		if metric, shown := gpuQuota(r, n.machine.GPU, n.onDemand); shown {
			j.gpus(n, metric, int(r.Quotas[metric]))
		}
	}
	const key = "slurmflex.max_active_requests"
	most := j.cfg.Options.MaxActiveRequests
	for _, region := range j.cfg.FlexRegions() {
		r, read := j.world.Regions[region]
		if !read || r.Err != nil {
			continue
		}
		j.groups(region, r.Is)
		limit, shown := r.Is.Quotas[mig.ActiveRequestsQuota]
		switch {
		case shown && float64(most) > limit:
			j.say(Fault, key, "%d active requests in %s are more than the project's quota %s of %d; set this to %[4]d or ask Google for more",
				most, region, mig.ActiveRequestsQuota, int(limit))
		case !shown && most > mig.DefaultActiveRequests:
			j.advise(key, "%d active requests in %s are more than the default quota of %d, and Compute does not show the project's quota %s; look it up in the console",
				most, region, mig.DefaultActiveRequests, mig.ActiveRequestsQuota)
		}
	}
}

// groups compares the nodes of a region with its quotas of groups. Each waiting or running job has
// its own group, and so has each node that is requested separately.
func (j *judge) groups(region string, r mig.Region) {
	key, nodes := "", 0
	for _, set := range j.cfg.FlexSets() {
		if set.Region != region || set.Flex.UseBulkInsert {
			continue
		}
		key = cmp.Or(key, "nodeset."+set.Name+".node_count_dynamic_max")
		nodes += set.Size()
	}
	for _, metric := range mig.GroupQuotas() {
		if limit, shown := r.Quotas[metric]; shown && int(limit) < nodes {
			j.advise(key, "quota %s of %s is %d: each waiting or running job on flex-start nodes has its own group, so at most %[3]d jobs can have nodes at once, although there are %d nodes; ask Google for more if jobs are so small",
				metric, region, int(limit), nodes)
		}
	}
}

// needs returns the needs, sorted by region and GPUs.
func (j *judge) needs() []*need {
	var all []*need
	for _, set := range j.cfg.FlexSets() {
		if set.Size() == 0 {
			continue
		}
		m, ok := j.machine(set)
		if !ok || m.GPU == "" || set.Flex.Capacity == config.Reservation { // already counted
			continue
		}
		onDemand := set.Flex.Capacity == config.OnDemand
		i := slices.IndexFunc(all, func(n *need) bool {
			return n.region == set.Region && n.machine.GPU == m.GPU && n.onDemand == onDemand
		})
		if i < 0 {
			i = len(all)
			all = append(all, &need{region: set.Region, machine: m, onDemand: onDemand})
		}
		all[i].sets = append(all[i].sets, set)
		all[i].nodes += set.Size()
		all[i].gpus += set.Size() * m.GPUs
	}
	slices.SortStableFunc(all, func(a, b *need) int {
		return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.machine.GPU, b.machine.GPU))
	})
	return all
}

func (j *judge) gpus(n *need, metric string, limit int) {
	if limit >= n.gpus {
		return
	}
	set := n.sets[0]
	key := "nodeset." + set.Name + ".node_count_dynamic_max"
	if limit < n.machine.GPUs {
		j.say(Fault, key, "quota %s of %s is %d, too little for a single %s; ask Google for %d", metric, n.region, limit, n.machine.Name, n.gpus)
		return
	}
	instead := ""
	if len(n.sets) == 1 {
		instead = fmt.Sprintf(", or set the number of nodes to %d", limit/n.machine.GPUs)
	}
	j.advise(key, "quota %s of %s is %d, less than the %d GPUs of all %d nodes, so some nodes wait for others; ask Google for more%s",
		metric, n.region, limit, n.gpus, n.nodes, instead)
}

// gpuQuota returns the name of the quota for GPUs of a type, and whether Compute shows it. On-demand
// GPUs use the standard quota. Flex-start and Spot use the preemptible quota, or the standard quota in a
// project without preemptible quota. Source: Compute's page "Allocation quotas".
func gpuQuota(r mig.Region, gpu string, onDemand bool) (metric string, shown bool) {
	metric, known := preemptibleQuota(gpu)
	standard := strings.TrimPrefix(metric, "PREEMPTIBLE_")
	if onDemand || r.Quotas[metric] == 0 && r.Quotas[standard] > 0 {
		metric = standard
	}
	_, shown = r.Quotas[metric]
	return metric, known && shown
}

// preemptibleQuota returns the quota metric for GPUs of a type obtained by flex-start; known is
// false for an unknown type. Source: Quota.metric in the discovery document, and Compute's "GPU
// quota" page for later types.
func preemptibleQuota(gpu string) (metric string, known bool) {
	name, known := map[string]string{
		"nvidia-a100-80gb":      "A100_80GB",
		"nvidia-b200":           "B200",
		"nvidia-gb200":          "GB200",
		"nvidia-h100-80gb":      "H100",
		"nvidia-h100-mega-80gb": "H100_MEGA",
		"nvidia-h200-141gb":     "H200",
		"nvidia-l4":             "L4",
		"nvidia-tesla-a100":     "A100",
		"nvidia-tesla-t4":       "T4",
		"nvidia-tesla-v100":     "V100",
	}[gpu]
	return "PREEMPTIBLE_NVIDIA_" + name + "_GPUS", known
}
