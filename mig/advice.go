package mig

// AdviceSpec is a request for machines that is not made, about which Compute is
// asked for advice.
type AdviceSpec struct {
	Region   string
	Template string   // its link
	Model    string   // the provisioning model
	Zones    []string // of the region
	Count    int      // 1 or more
	OneZone  bool     // all machines in one zone, as in a group of ours
}

// Advice is what Compute says of such a request.
type Advice struct {
	Obtainability float64  // how likely all machines are obtained, 0 to 1
	Zones         []string // that Compute recommends, sorted; empty: none
}
