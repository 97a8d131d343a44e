package mig

// AdviceSpec describes a request for machines that is not sent: Compute is only asked how likely it
// would succeed.
type AdviceSpec struct {
	Region   string
	Template string   // its link
	Model    string   // the provisioning model
	Zones    []string // of the region
	Count    int      // at least 1
	OneZone  bool     // all machines in one zone, as in a group of ours
}

// Advice is Compute's answer to an AdviceSpec.
type Advice struct {
	Obtainability float64  // probability that all machines are obtained, 0 to 1
	Zones         []string // zones that Compute recommends, sorted; empty: none
}
