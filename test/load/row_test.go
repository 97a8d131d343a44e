package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableShowsMissedTargets(t *testing.T) {
	rows := trial{rows: []target{{"hook", "ms", 30}, {"planner", "ms", 300}, {"calls", "calls", 2.2}}}.measured([]float64{17.26, 312.4, 2.2})
	var out bytes.Buffer
	require.NoError(t, writeTable(&out, rows))
	assert.Equal(t, `hook     17.3  ms     ≤ 30    ok
planner  312   ms     ≤ 300   short
calls    2.20  calls  ≤ 2.20  ok
bench: 3 rows, 1 short
`, out.String())
}
