//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestInitReadsNameAndVersionFromSlurm(t *testing.T) {
	l := cluster(t, lab.Options{})
	written, flexConf := l.Log("new.yaml"), l.Log("flex.conf")
	answers := []string{
		"--config", written, "init", "--flex-conf", flexConf, "--project", "my-project", "--region", "us-central1",
		"--partition", "train", "--machine-type", "a3-megagpu-8g", "--time", "4:00:00",
	}
	out, err := l.Flex(context.Background(), answers...)
	require.NoError(t, err, out)
	assert.Contains(t, readFile(written), "slurm_cluster_name: alpha ")
	assert.Contains(t, readFile(flexConf), fmt.Sprintf("# For slurm.conf of Slurm %d.%02d,", l.Version.Major, l.Version.Minor))
	out, err = l.Flex(context.Background(), "--config", written, "config", "check")
	require.NoError(t, err)
	assert.Equal(t, written+": OK: cluster alpha: 1 of 1 nodeset uses flex-start\n", out)
	_, err = l.Flex(context.Background(), answers...)
	require.ErrorContains(t, err, "exists already, and init replaces no file")
}
