package config

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxNodes is the largest nodeset: far more than Slurm runs well with, so a
// larger number is a mistake.
const MaxNodes = 100_000

// NodeSet is a set of nodes that are made alike. Of a nodeset that is not ours
// only Name, Static, DynamicMax and Line are read.
type NodeSet struct {
	Name string `key:"nodeset_name" form:"name"`
	// The first nodes are static: always wanted.
	Static int `key:"node_count_static" unit:"nodes" range:"0 to 100000"`
	// The nodes after them are created when a job wants them.
	DynamicMax int `key:"node_count_dynamic_max" unit:"nodes" range:"0 to 100000"`
	Line       int `key:"-"`

	// Link of the instance template: global, or of Region.
	Template   string `key:"instance_template"`
	Subnetwork string `key:"subnetwork"` // link
	Region     string `key:"-"`          // that of Subnetwork
	// Of Region, at least one: those allowed and not denied, in the order of the file.
	Zones []string `key:"zone_policy_allow"`
	// The nodes of a cohort are placed close together.
	Placement bool `key:"enable_placement"`
	// The longest way between them; 0: unset.
	PlacementDistance int `key:"placement_max_distance" range:"1 to 3"`
	// nil: the nodeset is not ours.
	Flex *Flex `key:"dws_flex"`
	// Parameters of the node lines in slurm.conf.
	NodeConf map[string]string `key:"node_conf"`
}

// Size is the number of nodes: their indexes are 0 to Size-1.
func (ns *NodeSet) Size() int { return ns.Static + ns.DynamicMax }

// IsStatic reports whether the node of that index is static.
func (ns *NodeSet) IsStatic(index int) bool { return 0 <= index && index < ns.Static }

// NodeName is the name of a node, in Slurm and in Compute: cluster-nodeset-index.
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
				s.r.problem(s.line, s.path, "has the same node names as nodeset %s on line %d; give it another name", quote(ns.Name), other.Line)
				continue
			}
			byName[ns.Name] = ns
			all = append(all, ns)
		}
	}
	slices.SortFunc(all, func(a, b *NodeSet) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// readNodeSet reads a nodeset; those on TPUs and those that register
// themselves (instances is false) are never ours.
func readNodeSet(s *section, instances bool, cluster string) *NodeSet {
	ns := &NodeSet{Line: s.line}
	s.read(ns, inSize)
	if ns.Size() > MaxNodes {
		s.problem("node_count_dynamic_max", "makes %d nodes with the static ones; give at most %d together", ns.Size(), MaxNodes)
	}
	if instances {
		block := s.section("dws_flex")
		ns.Flex = readFlex(block, s.has("dws_flex"))
		switch given := s.has("capacity"); {
		case given && ns.Flex != nil:
			s.problem("capacity", "dws_flex provisions these nodes by flex-start; remove this, or set dws_flex.enabled: false")
		case given:
			ns.Flex = readCapacity(s)
		}
		s.refuseFlexKeys(block.known(), ns.Flex)
	}
	if ns.Flex == nil {
		if instances {
			s.ignore() // for a slip in dws_flex
		}
		s.r.ignored = append(s.r.ignored, Ignored{Key: s.path, Line: s.line})
		return ns
	}
	s.checkNodeSetName(ns.Name, cluster)
	s.refuseOtherProvisioning(ns.Flex.Capacity)
	ns.readPlace(s)
	switch { // instances of bulk insert are in no group that a policy could place
	case ns.Flex.Capacity.AtOnce():
		s.refusePlacement()
	case !ns.Flex.UseBulkInsert:
		s.read(ns, only("enable_placement", "placement_max_distance"))
	}
	s.read(ns, only("node_conf"))
	s.r.ignored = append(s.r.ignored, s.ignore()...)
	return ns
}

// checkNodeSetName checks a name against Compute's rules, because it is part of the
// names of instances and groups.
func (s *section) checkNodeSetName(name, cluster string) {
	longest := maxName - len(cluster) - len("-") - len(longestJob)
	switch {
	case !nodeSetName.MatchString(name):
		s.problem("nodeset_name", "%s cannot be part of a Compute name; give letters, digits and inner dashes, all lower case", quote(name))
	case longest > 0 && len(name) > longest:
		s.problem("nodeset_name", "%s has %d characters; give at most %d, because with the cluster's name and a job id a name has at most %d",
			quote(name), len(name), longest, maxName)
	}
}

// refuseOtherProvisioning reports ways to get instances that exclude the nodeset's.
// Source: Compute's documentation of resize requests in a MIG, and of provisioning models.
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
		s.problem("accelerator_topology", "%s is of A4X machines, which slurmflex does not provision; remove it, or what makes the nodes slurmflex's", quote(topology))
	}
	const one = "ANY_SINGLE_ZONE"
	if shape := s.text("zone_target_shape", one); shape != one {
		s.problem("zone_target_shape", "%s is not for nodes of slurmflex, which come in one zone; give %s", quote(shape), one)
	}
}

// refuseFlexKeys reports keys of dws_flex that are in the nodeset itself, where slurm-gcp
// has none of these names. Those that a nodeset with capacity may have were read before.
func (s *section) refuseFlexKeys(keys []string, f *Flex) {
	for _, key := range s.unread() {
		switch {
		case !slices.Contains(keys, key):
		case f != nil && f.Capacity.AtOnce():
			s.problem(key, "has no effect with capacity, whose machines come at once or are refused, and have no lease; remove it")
		default:
			s.problem(key, "has no effect here; give it inside dws_flex")
		}
	}
}

// refusePlacement reports what asks for nodes close together. Slurm-gcp writes both keys
// into each nodeset, false and null where they are not set.
func (s *section) refusePlacement() {
	const text = "has no effect with capacity, whose machines are in no group that a policy could place; remove it"
	if s.flag("enable_placement") {
		s.problem("enable_placement", text)
	}
	if _, given := s.value("placement_max_distance"); given {
		s.problem("placement_max_distance", text)
	}
}

// readPlace reads the region and zones that the nodes are made in, and from
// which template.
func (ns *NodeSet) readPlace(s *section) {
	s.read(ns, only("subnetwork", "instance_template"))
	if m := subnetLink.FindStringSubmatch(ns.Subnetwork); m != nil {
		ns.Region = m[1]
	} else {
		s.problem("subnetwork", "%s; give projects/PROJECT/regions/REGION/subnetworks/NAME", unlike(ns.Subnetwork, "names no region"))
	}

	m := templateLink.FindStringSubmatch(ns.Template)
	switch {
	case m == nil:
		s.problem("instance_template", "%s; give projects/PROJECT/global/instanceTemplates/NAME or projects/PROJECT/regions/REGION/instanceTemplates/NAME",
			unlike(ns.Template, "is not the link of a template"))
	case m[1] != "" && ns.Region != "" && m[1] != ns.Region:
		s.problem("instance_template", "is of region %s but the subnetwork of %s; give a template of %[2]s or a global one", quote(m[1]), quote(ns.Region))
	}
	ns.readZones(s)
}

func (ns *NodeSet) readZones(s *section) {
	const key = "zone_policy_allow"
	denied := s.texts("zone_policy_deny")
	for i, zone := range s.texts(key) {
		if m := zoneName.FindStringSubmatch(zone); ns.Region != "" && (m == nil || m[1] != ns.Region) {
			s.itemProblem(key, i, "%s is not a zone of the subnetwork's region; give zones of %s", quote(zone), quote(ns.Region))
		}
		if !slices.Contains(denied, zone) && !slices.Contains(ns.Zones, zone) {
			ns.Zones = append(ns.Zones, zone)
		}
	}
	if len(ns.Zones) == 0 {
		s.problem(key, "no zone is allowed and not denied; give one or more of the subnetwork's region")
	}
}

// unlike says that a link is missing or what is wrong with it.
func unlike(link, wrong string) string {
	if link == "" {
		return "missing"
	}
	return quote(link) + " " + wrong
}
