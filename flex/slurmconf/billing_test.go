package slurmconf

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// billed are the lines about partition p of a cluster that has flex-start nodesets a
// (a3-highgpu-8g), g (g2-standard-4, of the same price) and h (h4d-standard-192), and
// one that is none.
func billed(t *testing.T, partition string) string {
	t.Helper()
	set := func(name, more string) string {
		return "  " + name + ": {node_count_dynamic_max: 2, instance_template: projects/p/regions/us-central1/instanceTemplates/t, " +
			"subnetwork: projects/p/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a], dws_flex: {}" + more + "}\n"
	}
	cfg, err := config.Parse("c.yaml", []byte("slurm_cluster_name: alpha\nproject: my-project\nnodeset:\n"+set("a", "")+set("g", "")+set("h", "")+
		set("odd", ", node_conf: {Sockets: 2, CoresPerSocket: 3}")+set("free", "")+set("dear", "")+
		"  cpu: {node_count_static: 1}\n  none: {}\npartitions:\n  p: {"+partition+"}\n"))
	require.NoError(t, err)
	in := Input{
		Config: cfg, Version: slurm.Version{Major: 22, Minor: 5}, Programs: "/x", Machines: map[string]Machine{},
		Prices: &Prices{Of: "flex prices of 2026-11", Currency: "EUR", Hour: func(machine string, _ config.Capacity) *big.Rat {
			return map[string]*big.Rat{
				"a3-highgpu-8g": big.NewRat(88_49, 100), "g2-standard-4": big.NewRat(88_49, 100),
				"h4d-standard-192": big.NewRat(22, 7), "a2-highgpu-1g": big.NewRat(99, 1),
			}[machine]
		}},
	}
	for name, machine := range map[string]string{"a": "a3-highgpu-8g", "g": "g2-standard-4", "h": "h4d-standard-192", "dear": "a2-highgpu-1g", "free": "a4-highgpu-8g"} {
		m, known := mig.KnownMachine(machine)
		require.True(t, known, machine)
		in.Machines[name] = Machine{MachineType: m, Source: "from a test"}
	}
	in.Machines["odd"] = Machine{MachineType: mig.MachineType{Name: "h4d-standard-192"}}
	text, err := Text(in)
	require.NoError(t, err)
	_, text, _ = strings.Cut(text, "# partition p: ")
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}

// Tried on Slurm 22.05.8 and 26.05.5: so weighted, a node of 208 CPUs that is allocated
// whole has billing=8849, and two have 17698.
func TestAWholeNodeBillsItsPrice(t *testing.T) {
	for partition, want := range map[string]string{
		"enable_job_exclusive: true, partition_nodeset: [a]": "billing counts hundredths of EUR for each hour (flex prices of 2026-11)\n" +
			"PartitionName=p Nodes=alpha-a-[0-1] State=UP OverSubscribe=EXCLUSIVE MaxTime=7-00:00:00 TRESBillingWeights=Node=8849",
		"enable_job_exclusive: true, partition_nodeset: [a, g, none]": "billing counts hundredths of EUR for each hour (flex prices of 2026-11)\n" +
			"PartitionName=p Nodes=alpha-a-[0-1],alpha-g-[0-1] State=UP OverSubscribe=EXCLUSIVE MaxTime=7-00:00:00 TRESBillingWeights=Node=8849",
		"partition_nodeset: [a]": "billing counts hundredths of EUR for each hour (flex prices of 2026-11), by CPUs;\n" +
			"# with slurmdbd and AccountingStorageTRES=gres/gpu, GRES/gpu=1106.125 instead bills by GPUs\n" +
			"PartitionName=p Nodes=alpha-a-[0-1] State=UP MaxTime=7-00:00:00 TRESBillingWeights=CPU=42.54327",
		"partition_nodeset: [h]": "billing counts hundredths of EUR for each hour (flex prices of 2026-11), by CPUs\n" +
			"PartitionName=p Nodes=alpha-h-[0-1] State=UP MaxTime=7-00:00:00 TRESBillingWeights=CPU=1.636905",
	} {
		assert.Equal(t, want, strings.TrimSpace(billed(t, partition)), partition)
	}
}

func TestWhereNoWeightsFitThereAreNone(t *testing.T) {
	for partition, want := range map[string]string{
		"partition_nodeset: [a, cpu]":                              "nodeset cpu is not slurmflex's, so its price is not known",
		"partition_nodeset: [free]":                                "there is no price of a4-highgpu-8g for capacity flex_start",
		"partition_nodeset: [a, g]":                                "its nodesets differ in price or CPUs, and weights are the same for all its nodes",
		"enable_job_exclusive: true, partition_nodeset: [a, dear]": "its nodesets differ in price or CPUs, and weights are the same for all its nodes",
		"partition_nodeset: [odd]":                                 "node_conf does not give the CPUs of nodeset odd",
	} {
		text := billed(t, partition)
		assert.True(t, strings.HasPrefix(text, "no TRESBillingWeights: "+want+"\n"), "%s: %s", partition, text)
		assert.NotContains(t, text, "TRESBillingWeights=", partition)
	}
}

// Slurm cuts billing off: what is a bit less than a whole number counts one less.
func TestTheWeightsOfAllPartsAreNoLessThanTheWhole(t *testing.T) {
	for whole := int64(1); whole < 3000; whole += 7 {
		for _, n := range []int{1, 3, 7, 26, 192, 208, 224} {
			w, ok := new(big.Rat).SetString(weight(big.NewRat(whole, 1), n))
			require.True(t, ok)
			more := new(big.Rat).Sub(w.Mul(w, big.NewRat(int64(n), 1)), big.NewRat(whole, 1))
			assert.GreaterOrEqual(t, more.Sign(), 0, "%d of %d", n, whole)
			assert.Negative(t, more.Cmp(big.NewRat(1, 1000)), "%d of %d", n, whole)
		}
	}
}
