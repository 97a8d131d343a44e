package apply

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slurmflex/flex/plan/action"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// logAction writes one line about an action that has ended. isNews reports whether its error is new.
func (h Hands) logAction(a action.Action, took time.Duration, err error, isNews bool) {
	about := action.About(a)
	fields := []zap.Field{zap.String("action", about.Text)}
	if about.Job != 0 {
		fields = append(fields, zap.Uint32("job", about.Job))
	}
	if len(about.Nodes) > 0 {
		fields = append(fields, zap.String("nodes", slurm.Fold(about.Nodes)))
	}
	if about.Group != "" {
		fields = append(fields, zap.String("group", about.Group))
	}
	log := h.Log.With(append(fields, zap.String("why", a.Because()), zap.Duration("took", took))...)
	switch {
	case err == nil:
		log.Log(severity(a), about.Done)
	case isNews && isRace(err):
		log.Info("action came too late", zap.Error(err))
	case isNews:
		log.Error("action failed", zap.Error(err))
	default:
		log.Debug("action failed again", zap.Error(err))
	}
}

// raceError is the error of an action whose reason has gone since the pass looked at Slurm.
type raceError struct{ error }

func racef(format string, args ...any) error { return raceError{fmt.Errorf(format, args...)} }

// isRace reports whether the action failed only because Slurm or Compute has changed since the pass
// looked: the next pass decides again.
func isRace(err error) bool {
	return errors.As(err, new(raceError)) || mig.CauseOf(err) == mig.CauseConflict
}

// severity returns the log level of a successful action. Actions that hold or cancel a user's job
// need an admin's attention (warn). Actions that belong to another action, or that the job's
// AdminComment shows, are for debugging.
func severity(a action.Action) zapcore.Level {
	switch a := a.(type) {
	case action.CreateGroup, action.CreatePolicy, action.DeletePolicy, action.DeleteRequest, action.CommentJob:
		return zapcore.DebugLevel
	case action.SetNodes:
		if a.State == "" {
			return zapcore.DebugLevel
		}
	case action.ReturnNodes:
		if a.Then != action.Requeue {
			return zapcore.WarnLevel
		}
	case action.EndJob:
		if a.Then != action.Requeue {
			return zapcore.WarnLevel
		}
	}
	return zapcore.InfoLevel
}
