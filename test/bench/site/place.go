package site

import (
	"fmt"
	"strings"
)

// Place names a nodeset, the partition with its nodes, and the region and zone of its machines.
type Place struct{ NodeSet, Partition, Region, Zone string }

// Places returns n places, each in a region of its own. The first is the place of clusters with a
// single place.
func Places(n int) []Place {
	places := []Place{{NodeSet, "train", Region, Zone}}
	for i := 1; i < n; i++ {
		region := fmt.Sprintf("us-east%d", i)
		places = append(places, Place{fmt.Sprintf("%s%c", NodeSet, 'a'+i), fmt.Sprintf("train%d", i), region, region + "-a"})
	}
	return places
}

// Nodes returns the names of n nodes of the place, starting at index first.
func (p Place) Nodes(first, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%s-%d", Cluster, p.NodeSet, first+i)
	}
	return names
}

// FlexBlock is the provisioning block of each nodeset.
const FlexBlock = "dws_flex: {use_job_duration: true, job_duration_margin: 600, max_attempts: 1}"

// TextOf returns the configuration of a cluster with that many nodes in each place; more holds
// additional lines of its slurmflex section.
func TextOf(places []Place, nodes int, more string) string {
	var partitions, sets strings.Builder
	for _, p := range places {
		fmt.Fprintf(&partitions, "  %s: {partition_name: %[1]s, enable_job_exclusive: true, partition_nodeset: [%s]}\n", p.Partition, p.NodeSet)
		fmt.Fprintf(&sets, `  %s:
    nodeset_name: %[1]s
    node_count_dynamic_max: %d
    instance_template: projects/%s/regions/%s/instanceTemplates/%[5]s
    subnetwork: projects/%[3]s/regions/%[4]s/subnetworks/default
    zone_policy_allow: [%[6]s]
    %[7]s
`, p.NodeSet, nodes, Project, p.Region, NodeSet, p.Zone, FlexBlock)
	}
	return fmt.Sprintf("slurm_cluster_name: %s\nproject: %s\npartitions:\n%snodeset:\n%sslurmflex:\n  max_active_requests: %d\n%s",
		Cluster, Project, &partitions, &sets, ActiveRequests, more)
}
