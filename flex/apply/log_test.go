package apply

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap/zapcore"

	"slurmflex/flex/plan/action"
)

func TestOnlyDecisionsAboutUsersJobsAreWarnings(t *testing.T) {
	assert.Equal(t, zapcore.DebugLevel, severity(action.CommentJob{}))
	assert.Equal(t, zapcore.InfoLevel, severity(action.ReturnNodes{Then: action.Requeue}))
	assert.Equal(t, zapcore.WarnLevel, severity(action.ReturnNodes{Then: action.Hold}))
}
