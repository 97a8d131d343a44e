package slurmconf

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"slurmflex/config"
)

// Prices are what machines cost, for TRESBillingWeights.
type Prices struct {
	Of       string // what they are, for the reader, such as: flex prices of 2026-10-13
	Currency string // such as USD

	// Hour is that of a machine for an hour; nil if there is no price.
	Hour func(machineType string, capacity config.Capacity) *big.Rat
}

// billingUnit is how much one of the currency an hour counts: whole numbers are cents,
// because Slurm cuts billing off to whole numbers.
const billingUnit = 100

// billing is the TRESBillingWeights by which a whole node of the partition bills its
// price for an hour, and a comment that says so, or why there is none. Where a job has
// whole nodes, the node counts. Where jobs share nodes, its CPUs do: GPUs could only
// with slurmdbd and AccountingStorageTRES=gres/gpu, without which slurmctld does not
// start (tried on 22.05.8).
func billing(in Input, p config.Partition) (weights []Parameter, comment string) {
	none := func(format string, args ...any) ([]Parameter, string) {
		return nil, "# partition " + p.Name + ": no TRESBillingWeights: " + fmt.Sprintf(format, args...) + "\n"
	}
	var price *big.Rat
	var cpus, gpus int
	for _, set := range in.Config.SetsOf(p) {
		if set.Size() == 0 {
			continue
		}
		if set.Flex == nil {
			return none("nodeset %s is not slurmflex's, so its price is not known", set.Name)
		}
		machine := in.Machines[set.Name].Name
		if machine == "" {
			return none("the machine type of nodeset %s is not known; give --machine %[1]s=TYPE", set.Name)
		}
		hour := in.Prices.Hour(machine, set.Flex.Capacity)
		if hour == nil {
			return none("there is no price of %s for capacity %s", machine, set.Flex.Capacity)
		}
		c, g := cpusOf(in, set)
		switch {
		case price != nil && (hour.Cmp(price) != 0 || !p.Exclusive && c != cpus):
			return none("its nodesets differ in price or CPUs, and weights are the same for all its nodes")
		case !p.Exclusive && c == 0:
			return none("node_conf does not give the CPUs of nodeset %s", set.Name)
		}
		price, cpus, gpus = hour, c, g
	}
	whole := new(big.Rat).Mul(price, big.NewRat(billingUnit, 1))
	comment = fmt.Sprintf("# partition %s: billing counts hundredths of %s for each hour (%s)", p.Name, in.Prices.Currency, in.Prices.Of)
	if p.Exclusive {
		return []Parameter{{"TRESBillingWeights", "Node=" + weight(whole, 1)}}, comment + "\n"
	}
	comment += ", by CPUs"
	if gpus > 0 {
		comment += ";\n# with slurmdbd and AccountingStorageTRES=gres/gpu, GRES/gpu=" + weight(whole, gpus) + " instead bills by GPUs"
	}
	return []Parameter{{"TRESBillingWeights", "CPU=" + weight(whole, cpus)}}, comment + "\n"
}

// cpusOf are the CPUs and GPUs that the nodes of a nodeset have in Slurm; 0 if its line
// does not say.
func cpusOf(in Input, set *config.NodeSet) (cpus, gpus int) {
	parameters, err := nodeParameters(set, in.Machines[set.Name])
	if err != nil {
		return 0, 0
	}
	i := slices.IndexFunc(parameters, func(p Parameter) bool {
		return strings.EqualFold(p.Key, "CPUs") || strings.EqualFold(p.Key, "Procs")
	})
	if i >= 0 {
		cpus, _ = strconv.Atoi(parameters[i].Value)
	}
	return cpus, gpusOf(parameters)
}

// weight is the part of each of n as a decimal: no less than exact, so that n of them
// are not cut off to one less than the whole.
func weight(whole *big.Rat, n int) string {
	const digits = 6
	micros := new(big.Rat).Mul(whole, big.NewRat(1_000_000, int64(n)))
	up, rest := new(big.Int).QuoRem(micros.Num(), micros.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		up.Add(up, big.NewInt(1))
	}
	text := new(big.Rat).SetFrac(up, big.NewInt(1_000_000)).FloatString(digits)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
