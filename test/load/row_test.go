package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableShowsMissedTargets(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, write(&out, []row{{"memory", 17.26, "MiB", 30}, {"planner", 312.4, "ms", 300}, {"calls", 2.2, "calls", 2.2}}), errShort)
	assert.Equal(t, `memory   17.3  MiB    ≤ 30    ok
planner  312   ms     ≤ 300   short
calls    2.20  calls  ≤ 2.20  ok
bench: 3 rows, 1 short
`, out.String())
}
