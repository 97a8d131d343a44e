package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTableSaysWhatIsShort(t *testing.T) {
	rows := []row{
		measured("hook", 17.26, "ms", 30),
		measured("planner", 312.4, "ms", 300),
		measured("calls", 2.2, "calls", 2.2),
	}
	var out bytes.Buffer
	require.NoError(t, writeTable(&out, rows))
	assert.Equal(t, `hook     17.3  ms     ≤ 30    ok
planner  312   ms     ≤ 300   short
calls    2.20  calls  ≤ 2.20  ok
bench: 3 rows, 1 short
`, out.String())
}

func TestCallsThatLookOrWaitChangeNothing(t *testing.T) {
	calls := map[string]int{
		"regionInstanceGroupManagers.insert": 3, "regionInstanceGroupManagerResizeRequests.cancel": 2,
		"instances.aggregatedList": 5, "regionOperations.wait": 7, "regionInstanceTemplates.get": 1,
		"regionInstanceGroupManagers.list": 4,
	}
	assert.Equal(t, 5, changes(calls))
	assert.Equal(t, 22, total(calls))
}

func TestTheFloorIsWhatTheRateLimitAllows(t *testing.T) {
	// 500 calls of which a fifth comes again are 625: 31.25 s at 20 a second,
	// less 10 s saved up, and two operations.
	assert.Equal(t, 23250*time.Millisecond, floor())
}
