package config

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxNodes is the maximum size of a nodeset. Slurm does not run well with nearly as many nodes, so
// a larger number is a mistake.
const MaxNodes = 100_000

// NodeSet is a set of nodes with the same properties. For a nodeset that slurmflex does not
// provision, only Name, Static, DynamicMax and Line are read.
type NodeSet struct {
	Name       string `key:"-"` // its key
	Static     int    `key:"node_count_static" unit:"nodes" range:"0 to 100000" doc:"Nodes that are always up, with the lowest indexes."`
	DynamicMax int    `key:"node_count_dynamic_max" unit:"nodes" range:"0 to 100000" doc:"Nodes that jobs can have or wait for at once, named CLUSTER-NODESET-INDEX. Set more than you expect machines, because the nodes of a waiting job are kept from more important ones."`
	Line       int    `key:"-"`

	// Template is global or in Region.
	Template   string `key:"instance_template" form:"template" required:"true" doc:"Instance template of the machines: global, or in the subnetwork's region."`
	Subnetwork string `key:"subnetwork" form:"subnetwork" required:"true" doc:"Subnetwork of the machines, which determines their region."`
	Region     string `key:"-"` // the region of Subnetwork
	// Zones are those that are allowed and not denied, in the order of the file. There is at least one.
	Zones     []string `key:"zone_policy_allow" values:"list of zones" required:"true" doc:"Zones of the region, at least one; Compute chooses one for each request."`
	_         struct{} `key:"nodeset_name" values:"name" doc:"Of slurm-gcp. slurmflex uses the nodeset's key."`
	_         struct{} `key:"zone_policy_deny" values:"list of zones" doc:"Zones excluded from zone_policy_allow."`
	Placement bool     `key:"enable_placement" doc:"Place a job's nodes close together, by a workload policy."`
	// PlacementDistance is 0 if it is not set.
	PlacementDistance int `key:"placement_max_distance" range:"1 to 3" doc:"A job's nodes are within one sub-block (1), block (2) or cluster (3). If the machine type does not support the distance, the job is held."`
	// Flex is nil if slurmflex does not provision the nodeset.
	Flex     *Flex             `key:"dws_flex" doc:"Flex-start: even empty, it lets slurmflex provision the nodeset."`
	NodeConf map[string]string `key:"node_conf" doc:"NodeName parameters for config slurm-conf. Your Gres replaces the one that it writes, such as gpu:h100:8."`
	_        struct{}          `key:"zone_target_shape" values:"ANY_SINGLE_ZONE" doc:"Of slurm-gcp."`
	_        struct{}          `key:"spot" values:"true or false" doc:"Of slurm-gcp, like preemptible and enable_spot_vm: true only with capacity: spot."`
	_        struct{}          `key:"preemptible" values:"true or false" doc:"See spot."`
	_        struct{}          `key:"enable_spot_vm" values:"true or false" doc:"See spot."`
	_        struct{}          `key:"accelerator_topology" values:"empty" doc:"Of slurm-gcp, for A4X, which slurmflex does not support."`
	_        struct{}          `key:"future_reservation" values:"empty" doc:"Of slurm-gcp."`
}

// Size returns the number of nodes. Their indexes are 0 to Size-1.
func (ns *NodeSet) Size() int { return ns.Static + ns.DynamicMax }

// IsStatic reports whether the node of that index is static.
func (ns *NodeSet) IsStatic(index int) bool { return 0 <= index && index < ns.Static }

// NodeName returns the name of a node, in Slurm and in Compute: cluster-nodeset-index.
func (ns *NodeSet) NodeName(cluster string, index int) string {
	return fmt.Sprintf("%s-%s-%d", cluster, ns.Name, index)
}

// readNodeSets reads the nodesets of all kinds, sorted by name.
func readNodeSets(root *section, cluster string) []*NodeSet {
	var all []*NodeSet
	byName := make(map[string]*NodeSet)
	for _, key := range []string{"nodeset", "nodeset_tpu", "nodeset_dyn"} {
		for _, s := range root.sections(key) {
			ns := readNodeSet(s, key == "nodeset", cluster)
			if other, taken := byName[ns.Name]; taken {
				s.r.problem(s.line, s.path, "has the same node names as nodeset %s on line %d; rename it", quote(ns.Name), other.Line)
				continue
			}
			byName[ns.Name] = ns
			all = append(all, ns)
		}
	}
	slices.SortFunc(all, func(a, b *NodeSet) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// readNodeSet reads a nodeset. If instances is false, the nodeset has TPUs or its nodes register
// themselves, and slurmflex never provisions it.
func readNodeSet(s *section, instances bool, cluster string) *NodeSet {
	ns := &NodeSet{Name: s.name, Line: s.line}
	s.value("nodeset_name")
	s.read(ns, inSize)
	if ns.Size() > MaxNodes {
		s.problem("node_count_dynamic_max", "adds up to %d nodes with the static ones; the sum must be at most %d", ns.Size(), MaxNodes)
	}
	if instances {
		ns.Flex = readFlex(s.section("dws_flex"), s.has("dws_flex"))
		switch given := s.has("capacity"); {
		case given && ns.Flex != nil:
			s.problem("capacity", "conflicts with dws_flex, which provisions these nodes with flex-start; remove this, or set dws_flex.enabled: false")
		case given:
			ns.Flex = readCapacity(s)
		}
	}
	if ns.Flex == nil {
		if instances {
			s.ignore() // reports a misspelled dws_flex
		}
		s.r.ignored = append(s.r.ignored, s.path)
		return ns
	}
	s.checkNodeSetName(ns.Name, cluster)
	s.refuseOtherProvisioning(ns.Flex.Capacity)
	ns.readPlace(s)
	switch { // bulk insert creates instances outside groups, so no policy can place them
	case ns.Flex.Capacity.AtOnce():
		s.refusePlacement()
	case !ns.Flex.UseBulkInsert:
		s.read(ns, only("enable_placement", "placement_max_distance"))
	}
	s.read(ns, only("node_conf"))
	s.r.ignored = append(s.r.ignored, s.ignore()...)
	return ns
}

// checkNodeSetName checks a name against Compute's rules, because the name is part of instance and
// group names.
func (s *section) checkNodeSetName(name, cluster string) {
	longest := 1 + maxCluster - len(cluster)
	switch {
	case !nodeSetName.MatchString(name):
		s.r.problem(s.line, s.path, "%s cannot be part of a Compute name; must have only letters, digits and inner dashes, all lower case", quote(name))
	case longest > 0 && len(name) > longest: // otherwise the cluster's name is too long
		s.r.problem(s.line, s.path, "%s has %d characters; must have at most %d, because a group's name adds the cluster's name and a job id and has at most %d",
			quote(name), len(name), longest, maxName)
	}
}

// refuseOtherProvisioning reports keys for other ways of provisioning, which exclude the nodeset's
// capacity. Source: Compute's documentation of resize requests in a MIG, and of provisioning
// models.
func (s *section) refuseOtherProvisioning(capacity Capacity) {
	fix := "excludes flex-start; remove it or set dws_flex.enabled: false"
	if capacity.AtOnce() {
		fix = fmt.Sprintf("excludes capacity %s; remove one of the two", capacity)
	}
	for _, key := range []string{"reservation_name", "future_reservation"} {
		if s.text(key, "") != "" && (capacity != Reservation || key != "reservation_name") {
			s.problem(key, "a reservation %s", fix)
		}
	}
	for _, key := range []string{"enable_spot_vm", "spot", "preemptible"} {
		if s.flag(key) && capacity != Spot {
			s.problem(key, "spot %s", fix)
		}
	}
	if topology := s.text("accelerator_topology", ""); topology != "" {
		s.problem("accelerator_topology", "%s is for A4X machines, which slurmflex does not support; remove it, or provision these nodes without slurmflex", quote(topology))
	}
	const one = "ANY_SINGLE_ZONE"
	if shape := s.text("zone_target_shape", one); shape != one {
		s.problem("zone_target_shape", "%s is not supported, because slurmflex requests a job's nodes in one zone; must be %s", quote(shape), one)
	}
}

// refusePlacement reports keys that request placement. slurm-gcp writes both keys into each
// nodeset, as false and null if they are not set.
func (s *section) refusePlacement() {
	const text = "has no effect with capacity, because its machines are not in a group with a placement policy; remove it"
	if s.flag("enable_placement") {
		s.problem("enable_placement", text)
	}
	if _, given := s.value("placement_max_distance"); given {
		s.problem("placement_max_distance", text)
	}
}

// readPlace reads the region, the zones and the template of the nodes.
func (ns *NodeSet) readPlace(s *section) {
	s.read(ns, only("subnetwork", "instance_template"))
	ns.Region = regionIn("subnetwork", ns.Subnetwork)
	if region := regionIn("template", ns.Template); region != "" && ns.Region != "" && region != ns.Region {
		s.problem("instance_template", "is in region %s, but the subnetwork is in %s; use a template in %[2]s or a global template", quote(region), quote(ns.Region))
	}
	ns.readZones(s)
}

func (ns *NodeSet) readZones(s *section) {
	const key = "zone_policy_allow"
	denied := s.texts("zone_policy_deny")
	for i, zone := range s.texts(key) {
		if m := zoneName.FindStringSubmatch(zone); ns.Region != "" && (m == nil || m[1] != ns.Region) {
			s.itemProblem(key, i, "%s is not a zone of the subnetwork's region; use zones of %s", quote(zone), quote(ns.Region))
		}
		if !slices.Contains(denied, zone) && !slices.Contains(ns.Zones, zone) {
			ns.Zones = append(ns.Zones, zone)
		}
	}
	if len(ns.Zones) == 0 {
		s.problem(key, "no zone is left; allow at least one zone of the subnetwork's region and do not deny it")
	}
}
