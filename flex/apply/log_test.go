package apply

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap/zapcore"

	"slurmflex/flex/plan/action"
)

func TestEachKindOfActionHasALogEvent(t *testing.T) {
	for _, kind := range action.Kinds() {
		if kind != (action.ReturnNodes{}).About().Kind {
			assert.NotEmpty(t, eventOf(kind), kind)
		}
	}
	for _, then := range []action.Then{action.Requeue, action.Hold, action.Cancel} {
		assert.NotEmpty(t, event(action.ReturnNodes{Then: then}), then)
	}
}

func TestOnlyDecisionsAboutUsersJobsAreWarnings(t *testing.T) {
	assert.Equal(t, zapcore.DebugLevel, severity(action.CommentJob{}))
	assert.Equal(t, zapcore.InfoLevel, severity(action.ReturnNodes{Then: action.Requeue}))
	assert.Equal(t, zapcore.WarnLevel, severity(action.ReturnNodes{Then: action.Hold}))
}
