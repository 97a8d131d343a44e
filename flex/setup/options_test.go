package setup

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/slurm"
)

// installed is the version of an installed Slurm; empty: none is installed.
type installed string

func (s installed) Version(context.Context) (slurm.Version, error) {
	if s == "" {
		return slurm.Version{}, errors.New("scontrol -V: no such file or directory")
	}
	return slurm.ParseVersion(string(s))
}

func TestGivenVersionIsUsedBeforeTheInstalledOne(t *testing.T) {
	for _, o := range []SlurmConf{{Version: "24.11"}, {}} {
		v, err := o.slurmVersion(t.Context(), installed("24.11"))
		require.NoError(t, err)
		assert.Equal(t, "24.11.0", v.String())
	}
	v, err := SlurmConf{Version: "26.05"}.slurmVersion(t.Context(), installed(""))
	require.NoError(t, err)
	assert.Equal(t, "26.05.0", v.String())
}

func TestVersionErrorsNameTheFlag(t *testing.T) {
	for says, c := range map[string]struct {
		given string
		slurm installed
		usage bool
	}{
		"scontrol -V: no such file or directory; or give --slurm-version, such as 22.05":                                                    {"", "", false},
		`--slurm-version must look like 24.11 or 24.11.5, not "new"`:                                                                        {"new", "24.11", true},
		"Slurm 20.11.9 is older than 22.05, the oldest that slurmflex works with; set the version that you upgrade to with --slurm-version": {"", "20.11.9", true},
	} {
		_, err := SlurmConf{Version: c.given}.slurmVersion(t.Context(), c.slurm)
		require.ErrorContains(t, err, says)
		assert.Equal(t, c.usage, config.IsMisuse(err), says)
	}
}
