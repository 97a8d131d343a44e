package setup

import (
	"slices"
	"strings"
	"time"

	"slurmflex/config"
)

// adviceOn returns advice on a valid configuration, and lists the keys that are ignored. It works
// offline. unpriced is the reason for missing prices; nil if prices exist.
func adviceOn(cfg *config.Config, unpriced error) Findings {
	j := newJudge(cfg, world{})
	for _, set := range cfg.FlexSets() {
		j.flex(set)
		j.partitionsOf(set)
	}
	j.uncalled()
	j.requests()
	j.others()
	for _, l := range cfg.Options.Limits {
		if l.Cost > 0 && unpriced != nil {
			j.say(Fault, "slurmflex.limits."+l.Name+".cost", "holds no job back: %v; write the prices, or limit gpu_hours", unpriced)
		}
	}
	for _, key := range cfg.Ignored {
		if !strings.HasSuffix(key, ".partition_conf") { // config slurm-conf writes it
			j.say(Ignored, key, "slurmflex does not use this key")
		}
	}
	return j.found.sort()
}

// quickestBoot is about the shortest time that a GPU machine takes from its start to slurmd's
// registration.
const quickestBoot = 2 * time.Minute

// flex advises on how the nodes of a nodeset are provisioned.
func (j *judge) flex(set *config.NodeSet) {
	block, ends := "nodeset."+set.Name+".dws_flex.", "its lease ends"
	if set.Flex.Capacity.AtOnce() {
		block, ends = "nodeset."+set.Name+".", "someone deletes it"
	}
	if set.Flex.UseJobDuration && set.Flex.JobDurationMargin == 0 {
		j.advise(block+"job_duration_margin",
			"the lease starts before the job does, so a lease equal to the time limit ends too early; set this to 600 (longer than a boot)")
	}
	j.unmet(block, set.Flex.Unmet())
	if lead, warning := j.cfg.RequeueLead(), set.Flex.LeaseEndWarning; warning > 0 && warning <= lead && set.Flex.OnLeaseEnd == config.RequeueFirst {
		j.advise(block+"lease_end_warning", "a script cannot save its work: its job is requeued %.0f s before the lease ends; set this to %.0f or more",
			lead.Seconds(), (lead + 2*time.Minute).Seconds())
	}
	if set.Flex.Salvage && (j.cfg.Options.Waiting != config.Pending || j.cfg.Uncovered()[set] != "") {
		j.advise(block+"salvage", "takes effect only with waiting: pending and exclusive partitions; change that or remove this")
	}
	if why := unshared(set); set.Flex.ShareRequests > 1 && why != "" {
		j.advise(block+"share_requests", "is ignored %s; remove this", why)
	}
	if set.Flex.RenewBefore > 0 && set.Static == 0 {
		j.advise(block+"renew_before", "only static nodes are renewed; set node_count_static or remove this")
	}
	if t := set.Flex.BootTimeout; t > 0 && t < quickestBoot {
		j.advise(block+"boot_timeout", "%.0f s is shorter than a GPU machine takes to boot, so its node would be powered down again; set this to 1800", t.Seconds())
	}
	if set.Flex.BootTimeout == 0 {
		j.advise(block+"boot_timeout", "a machine that never boots costs money until %s; set this to 1800 or remove it", ends)
	}
}

// unshared returns why one-node jobs do not share the requests of a nodeset; empty if they may.
func unshared(set *config.NodeSet) string {
	switch {
	case set.Flex.UseBulkInsert:
		return "with use_bulk_insert, which creates no requests"
	case set.Placement:
		return "with enable_placement, because each job then has its own group"
	case set.Flex.Provisioning == config.NodeByNode:
		return "with provisioning: node_by_node, because each node has its own request"
	case set.Size() <= set.Static:
		return "because the nodeset has only static nodes, and each has its own request"
	}
	return ""
}

// partitionsOf advises on static nodes in exclusive partitions, on nodes that no job can use, and on
// jobs of exclusive partitions that wait CONFIGURING because of another partition.
func (j *judge) partitionsOf(set *config.NodeSet) {
	key := "nodeset." + set.Name
	var exclusive, shared []string
	for _, p := range j.cfg.Partitions {
		switch {
		case !slices.Contains(p.NodeSets, set.Name):
		case p.Exclusive:
			exclusive = append(exclusive, p.Name)
		default:
			shared = append(shared, p.Name)
		}
	}
	for _, name := range exclusive {
		if set.Static > 0 {
			j.advise(key+".node_count_static",
				"exclusive partition %s powers its nodes down after each job, including static ones, which then wait for capacity again; remove the nodeset from it or set enable_job_exclusive: false", name)
		}
	}
	switch {
	case set.Size() == 0:
		j.advise(key, "has no nodes; set node_count_dynamic_max")
	case len(exclusive)+len(shared) == 0:
		j.advise(key, "is in no partition, so no job can use its nodes; add it to a partition_nodeset")
	}
	if j.cfg.Options.Waiting == config.Pending && len(exclusive) > 0 && len(shared) > 0 {
		j.advise(key, "is in partition %s, whose jobs share nodes, so jobs of partition %s wait CONFIGURING and not PENDING; move the shared partition to a nodeset of its own",
			strings.Join(shared, ", "), strings.Join(exclusive, ", "))
	}
}

// uncalled advises on regions with an endpoint and without nodesets.
func (j *judge) uncalled() {
	for _, region := range j.cfg.Options.Regions {
		if !slices.Contains(j.cfg.FlexRegions(), region.Name) {
			j.advise("slurmflex.regions."+region.Name, "is the region of no nodeset's subnetwork, so its endpoint is never called; correct the name or remove this")
		}
	}
}

// requests advises on nodes that are requested separately.
func (j *judge) requests() {
	most := j.cfg.Options.MaxActiveRequests
	nodes, sets := map[string]int{}, map[string][]string{}
	for _, set := range j.cfg.FlexSets() {
		if set.Flex.Provisioning == config.NodeByNode && !set.Flex.UseBulkInsert {
			nodes[set.Region] += set.Size()
			sets[set.Region] = append(sets[set.Region], set.Name)
		}
	}
	for _, region := range j.cfg.FlexRegions() {
		if nodes[region] > most {
			j.advise("nodeset."+sets[region][0]+".dws_flex.provisioning",
				"the %d nodes of %s need a request each, and only %d requests may be active in %s at once, so the others wait; raise max_active_requests and the project's quota, or set provisioning: queued",
				nodes[region], strings.Join(sets[region], ", "), most, region)
		}
	}
}

// others advises on the nodes without flex-start.
func (j *judge) others() {
	var sets []string
	for _, set := range j.cfg.NodeSets {
		onGKE := j.keys.Has("nodeset." + set.Name + ".gke_nodepool") // the Toolkit's gke-nodeset: pods that start slurmd by themselves
		if set.Flex == nil && set.Size() > 0 && !onGKE {
			sets = append(sets, set.Name)
		}
	}
	d := j.cfg.Options.Delegate
	if len(sets) > 0 && (d.ResumeProgram == "" || d.SuspendProgram == "") {
		j.advise("slurmflex.delegate",
			"no program is called for the nodes of %s, which do not use flex-start; set resume_program and suspend_program to the programs that power them up and down",
			strings.Join(sets, ", "))
	}
	j.delegate("slurmflex.delegate.resume_program", d.ResumeProgram)
	j.delegate("slurmflex.delegate.suspend_program", d.SuspendProgram)
}

// delegate checks that a program for the other nodes is not slurmflex's own hook.
func (j *judge) delegate(key, program string) {
	beside, _ := programFolder() // empty on an error
	if isHook(program, beside) {
		j.say(Fault, key, "%s is slurmflex itself; set this to the program that powers the other nodes", program)
	}
}

// unmet advises on the keys in the file that have no effect.
func (j *judge) unmet(section string, keys []config.Unmet) {
	for _, u := range keys {
		if j.keys.Has(section + u.Key) {
			j.advise(section+u.Key, "takes effect only with %s; set %s or remove this", u.Needs, u.Set)
		}
	}
}
