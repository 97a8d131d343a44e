package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// compare compares a configuration with an observed world.
func compare(cfg *config.Config, w world) Findings {
	j := newJudge(cfg, w)
	if w.Client != nil {
		j.client()
	} else {
		j.compute()
	}
	j.slurm()
	return j.found.sort()
}

// client reports why Compute could not be queried.
func (j *judge) client() {
	fix := ""
	if j.cfg.CredentialsFile == "" {
		fix = "; outside Compute Engine, set this to a file with Google credentials"
	}
	j.say(Fault, "google_app_cred_path", "%v; Compute was not queried%s", j.world.Client, fix)
}

// compute checks everything that Compute reports.
func (j *judge) compute() {
	j.credentials()
	for _, set := range j.cfg.FlexSets() {
		if j.world.Groups[set.Region] == nil {
			j.place(set)
			j.template(set)
			j.machines(set)
		}
	}
	j.endpoints()
	j.quotas()
}

// judge collects findings about a configuration, and differences between it and the world.
type judge struct {
	cfg     *config.Config
	keys    *config.Keys
	world   world
	version slurm.Version // of Slurm, once it is known
	found   Findings
}

func newJudge(cfg *config.Config, w world) *judge {
	return &judge{cfg: cfg, keys: cfg.Keys(), world: w}
}

// say adds a finding about a key of the configuration.
func (j *judge) say(level severity, key, format string, args ...any) {
	j.found = append(j.found, Finding{level, j.keys.File, j.keys.Line(key), key, fmt.Sprintf(format, args...)})
}

// advise adds advice about a key of the configuration.
func (j *judge) advise(key, format string, args ...any) { j.say(Advice, key, format, args...) }

// unread adds a finding about a failed read. Missing permissions, rejected credentials and wrong
// names are faults, because they are permanent.
func (j *judge) unread(key string, err error, fix string) {
	level := Unread
	if cause := mig.CauseOf(err); cause.NeedsAdmin() || cause == mig.CauseCredentials {
		level = Fault
	}
	j.say(level, key, "%v; %s", err, fix)
}

// absent reports whether the error means that the requested object does not exist.
func absent(err error) bool {
	cause := mig.CauseOf(err)
	return cause == mig.CauseNotFound || cause == mig.CauseConfig
}

// credentials checks for each region whether its groups can be listed.
func (j *judge) credentials() {
	for _, region := range j.cfg.FlexRegions() {
		key, what, fix := "project", "Compute", "check the project id and the credentials, which need the role in scripts/toolkit/slurmflex/slurmflex-role.yaml"
		if j.cfg.Options.HasEndpoint(region) {
			key, what, fix = "slurmflex.regions."+region+".endpoint", "the endpoint, and that it runs", "check this program's own log, and token_file"
		}
		switch err := j.world.Groups[region]; {
		case err == nil:
		case mig.CauseOf(err) == mig.CauseUnavailable:
			j.unread(key, err, "check that this host can reach "+what)
		default:
			j.unread(key, err, fix)
		}
	}
}

// endpoints checks that the endpoint of each region has the methods that the region's nodesets need.
func (j *judge) endpoints() {
	for _, region := range slices.Sorted(maps.Keys(j.world.Lacking)) {
		key, seen := "slurmflex.regions."+region+".endpoint", j.world.Lacking[region]
		if seen.Err != nil {
			j.unread(key, seen.Err, "repair the program that serves the region")
			continue
		}
		bulk, placed := false, false
		for _, set := range j.cfg.FlexSets() {
			if set.Region == region {
				bulk, placed = bulk || set.Flex.UseBulkInsert, placed || set.Placement
			}
		}
		lacking := slices.DeleteFunc(slices.Clone(seen.Is), func(method string) bool {
			return method == mig.BulkInsert && !bulk || method == mig.InsertPolicy && !placed
		})
		if len(lacking) > 0 {
			j.say(Fault, key, "lacks %s, which the nodesets of %s need; use a program with these methods, or change the nodesets", strings.Join(lacking, ", "), region)
		}
	}
}

// place checks the region and the zones of a nodeset.
func (j *judge) place(set *config.NodeSet) {
	key := "nodeset." + set.Name + "."
	switch r := j.world.Regions[set.Region]; {
	case r.Err != nil:
		j.unread(key+"subnetwork", r.Err, "use a subnetwork in an existing region, and grant the credentials the permission compute.regions.get")
		return
	case !r.Is.Up:
		j.say(Fault, key+"subnetwork", "region %s is DOWN according to Compute; wait, or use another region", set.Region)
	}
	at := key + "zone_policy_allow"
	for _, zone := range set.Zones {
		switch up := j.world.ZonesUp[zone]; {
		case absent(up.Err):
			j.say(Fault, at, "zone %s does not exist; use another zone of %s", zone, set.Region)
		case up.Err != nil:
			j.unread(at, up.Err, "grant the credentials the permission compute.zones.get")
		case !up.Is:
			j.say(Fault, at, "zone %s is DOWN according to Compute; wait, or remove it", zone)
		}
	}
}

// template checks the instance template's settings for flex-start.
func (j *judge) template(set *config.NodeSet) {
	key := "nodeset." + set.Name + ".instance_template"
	t := j.world.Templates[set.Template]
	if t.Err != nil {
		j.unread(key, t.Err, "use an existing template that the credentials may read")
		return
	}
	wrong := t.Is.Contradictions()
	if set.Flex.UseBulkInsert { // bulk insert sets these fields itself
		wrong = excludes(t.Is, set.Flex.Capacity.Model())
	}
	for _, text := range wrong {
		j.say(Fault, key, "%s", text)
	}
	if set.Flex.UseBulkInsert {
		return
	}
	if len(wrong) == 0 && t.Is.MaxRun < set.Flex.MaxRunDuration {
		j.advise("nodeset."+set.Name+".dws_flex.max_run_duration",
			"the template's maxRunDuration is %d s, and Google does not document which of the two applies; set both to the same value", int(t.Is.MaxRun.Seconds()))
	}
	if _, _, ok := mig.PlacementLimit(t.Is.MachineType, set.PlacementDistance); set.Placement && !ok {
		j.say(Fault, "nodeset."+set.Name+".enable_placement",
			"%s machines cannot be placed that close together; set this to false", t.Is.MachineType)
	}
}

// excludes returns the template settings that prevent a bulk insert with the provisioning model,
// each with its fix. The bulk insert's own properties override template settings, but cannot unset
// them.
func excludes(t mig.Template, model string) []string {
	var all []string
	if model != mig.FlexStart && t.MaxRun > 0 {
		all = append(all, fmt.Sprintf("maxRunDuration is %v s, after which Compute deletes the machines; make a template without", t.MaxRun.Seconds()))
	}
	if model == mig.Standard && t.Termination != "" && t.MaxRun == 0 {
		all = append(all, fmt.Sprintf("instanceTerminationAction is %s, which Compute refuses on demand; make a template without", t.Termination))
	}
	return all
}

// machines checks the machine type in the nodeset's zones.
func (j *judge) machines(set *config.NodeSet) {
	t, key := j.world.Templates[set.Template], "nodeset."+set.Name+".zone_policy_allow"
	for _, zone := range set.Zones {
		m, asked := j.world.Machines[offer{zone, t.Is.MachineType}]
		switch {
		case !asked:
		case absent(m.Err):
			j.say(Fault, key, "zone %s has no %s; remove it, or use a template with a machine type that the zone has", zone, t.Is.MachineType)
		case m.Err != nil:
			j.unread(key, m.Err, "grant the credentials the permission compute.machineTypes.get")
		}
	}
	if m, ok := j.machine(set); ok && !offersFlexStart(m) && !set.Flex.UseBulkInsert {
		j.say(Fault, "nodeset."+set.Name+".instance_template",
			"flex-start does not offer %s, only H4D and types with GPUs other than A4X; use a template with one of them", m.Name)
	}
}

// offersFlexStart reports whether flex-start supports the machine type: all types with GPUs except A4X,
// and H4D. N1 machines get their GPUs from the template. Source: Compute's documentation "About
// resize requests in a MIG", 2026.
func offersFlexStart(m mig.MachineType) bool {
	switch family, _, _ := strings.Cut(m.Name, "-"); family {
	case "a4x":
		return false
	case "h4d", "n1":
		return true
	}
	return m.GPUs > 0
}

// machine returns the machine type of a nodeset, from the first zone that has it.
func (j *judge) machine(set *config.NodeSet) (mig.MachineType, bool) {
	t := j.world.Templates[set.Template]
	for _, zone := range set.Zones {
		if m, asked := j.world.Machines[offer{zone, t.Is.MachineType}]; asked && m.Err == nil {
			return t.Is.Machine(m.Is), true
		}
	}
	return mig.MachineType{}, false
}
