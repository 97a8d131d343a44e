package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASeedAlwaysHasTheSameScript(t *testing.T) {
	assert.Equal(t, newDay(17), newDay(17))
	assert.NotEqual(t, newDay(17).script, newDay(18).script)
}

func TestAScriptIsInOrderAndPrintsAsOneLineForEachEvent(t *testing.T) {
	for seed := range uint64(200) {
		d := newDay(seed)
		require.NotEmpty(t, d.script)
		assert.True(t, slices.IsSortedFunc(d.script, func(a, b appointment) int { return int(a.at - b.at) }))
		for i, a := range d.script {
			assert.Equal(t, i+1, a.no)
			assert.Less(t, a.at, storm)
			assert.NotContains(t, a.String(), "\n")
			assert.NotContains(t, a.String(), "%!")
		}
	}
}

func TestEveryKindOfTroubleComes(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(300) {
		for _, a := range newDay(seed).script {
			seen[strings.TrimPrefix(fmt.Sprintf("%T", a.event), "chaos.")] = true
		}
	}
	for _, kind := range []string{
		"submit", "order", "powerUp", "capacity", "quota", "failRequest", "refuseCreation", "lag", "unreachable", "loseVM", "outage",
		"mute", "crash", "apiFault", "slurmFault", "slurmDown", "kill", "reload", "secondDaemon", "cron", "hookFault",
		"clockJump", "unblock", "takeover", "spoil", "lie", "squat", "stubborn", "hangup",
	} {
		assert.True(t, seen[kind], kind)
	}
}

func TestADayKeepsTheNumbersOfItsEvents(t *testing.T) {
	d := newDay(3)
	less := d.without(d.script[1:4])
	assert.Equal(t, append([]int{1}, d.numbers()[4:]...), less.numbers())
	assert.Equal(t, less, d.only(less.numbers()))
	assert.Len(t, newDay(3).script, len(d.script), "the day itself is as it was")
}

func TestEveryEditionOfTheConfigurationIsValid(t *testing.T) {
	for seed := range uint64(50) {
		for e := range edition(4) {
			cfg, err := newSetup(dice(seed)).config(e)
			require.NoError(t, err)
			assert.Len(t, cfg.NodeSets, len(nodeSets()))
			assert.GreaterOrEqual(t, cfg.Options.Interval, time.Minute)
		}
	}
}
