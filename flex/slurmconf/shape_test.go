package slurmconf

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/mig"
)

func TestANodesLineHasWhatItsMachineTypeHas(t *testing.T) {
	for name, want := range map[string]string{
		"a2-highgpu-1g":    " CPUs=12 Sockets=1 CoresPerSocket=6 ThreadsPerCore=2 RealMemory=81817 Gres=gpu:1",
		"a3-megagpu-8g":    " CPUs=208 Sockets=2 CoresPerSocket=52 ThreadsPerCore=2 RealMemory=1801912 Gres=gpu:8",
		"a3-ultragpu-8g":   " CPUs=224 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=2841477 Gres=gpu:8",
		"g2-standard-96":   " CPUs=96 Sockets=2 CoresPerSocket=24 ThreadsPerCore=2 RealMemory=369623 Gres=gpu:8",
		"h4d-standard-192": " CPUs=192 Sockets=2 CoresPerSocket=96 ThreadsPerCore=1 RealMemory=693043",
	} {
		m, known := mig.KnownMachine(name)
		require.True(t, known, name)
		parameters, err := nodeParameters(&config.NodeSet{}, Machine{MachineType: m, Source: "here"})
		require.NoError(t, err)
		assert.Equal(t, want, joined(parameters), name)
	}
	parameters, err := nodeParameters(&config.NodeSet{}, Machine{MachineType: mig.MachineType{Name: "z9-4", CPUs: 4, Memory: 1000}, Source: "here"})
	require.NoError(t, err)
	assert.Equal(t, " CPUs=4 RealMemory=940", joined(parameters), "of a type whose sockets are not known")
}

func TestNodeConfWinsOverTheMachineType(t *testing.T) {
	m, _ := mig.KnownMachine("a3-highgpu-8g")
	for want, conf := range map[string]map[string]string{
		" CPUs=208 Sockets=2 CoresPerSocket=52 ThreadsPerCore=2 RealMemory=1801912 Gres=gpu:8":         {"corespersocket": "52", "ThreadsPerCore": "2"},
		" CPUs=208 Sockets=4 CoresPerSocket=52 RealMemory=1801912 Gres=gpu:8":                          {"CoresPerSocket": "52"},
		" CPUs=104 RealMemory=1801912 Gres=gpu:8":                                                      {"CPUs": "104"},
		" CPUs=208 Sockets=2 RealMemory=1801912 Gres=gpu:8":                                            {"Sockets": "2"},
		" CPUs=208 CoresPerSocket=7 RealMemory=1801912 Gres=gpu:8":                                     {"CoresPerSocket": "7"},
		" CPUs=208 Sockets=2 CoresPerSocket=52 ThreadsPerCore=2 RealMemory=5 Gres=gpu:h100:8 Weight=3": {"RealMemory": "5", "Gres": "gpu:h100:8", "Weight": "3"},
		" CPUs=2 RealMemory=1801912":                                                                   {"CPUs": "2", "Gres": "", "State": "FUTURE"},
	} {
		parameters, err := nodeParameters(&config.NodeSet{NodeConf: conf}, Machine{MachineType: m, Source: "here"})
		require.NoError(t, err)
		if got := joined(parameters); conf["corespersocket"] == "" {
			assert.Equal(t, want, got)
		} else {
			assert.Contains(t, got, "Sockets=2 corespersocket=52")
		}
	}
}

func TestWithoutMachineTypeNodeConfMustSayWhatANodeHas(t *testing.T) {
	unknown := Machine{Err: errors.New("no rights")}
	_, err := nodeParameters(&config.NodeSet{Name: "a3"}, unknown)
	require.EqualError(t, err, "nodeset a3: the CPUs and memory of its nodes are unknown: no rights; set CPUs and RealMemory in nodeset.a3.node_conf, or give the machine type with --machine a3=TYPE")
	parameters, err := nodeParameters(&config.NodeSet{NodeConf: map[string]string{"CPUs": "4"}}, unknown)
	require.NoError(t, err)
	assert.Equal(t, " CPUs=4", joined(parameters))
}

func TestGPUsAreCounted(t *testing.T) {
	for gres, want := range map[string]int{"gpu:8": 8, "gpu:h100:4": 4, "gpu": 0, "shard:8": 0, "gpu:1": 1} {
		assert.Equal(t, want, gpusOf([]Parameter{{"CPUs", "2"}, {"gres", gres}}), gres)
	}
	assert.Equal(t, "0", upTo(1))
}
