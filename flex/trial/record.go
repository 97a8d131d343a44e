package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"slurmflex/flex/trial/transcript"
	"slurmflex/flex/usage"
)

// ErrFailed is the error of a trial whose report has a failed check, or something that is left.
var ErrFailed = errors.New("a check failed, or the trial left something behind")

// NotStarted returns the error of a trial that failed before it created anything. It counts as wrong
// usage unless the trial was interrupted.
func NotStarted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return usage.Wrap(err)
}

func interrupted(ctx context.Context) error {
	return fmt.Errorf("trial interrupted: %w", context.Cause(ctx))
}

// Report runs the trial and writes its report. It records the calls in a new file of that name,
// unless the name is empty. build is the version of slurmflex.
func (t *Trial) Report(ctx context.Context, out io.Writer, file, build string) error {
	incomplete := func() error { return nil }
	if file != "" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return usage.Errorf("--record: %w", err)
		}
		defer f.Close()
		header := transcript.Header{Slurmflex: build, Begun: t.Now().UTC(), Region: t.Spec.Region, Machine: t.Spec.Template.MachineType}
		recorder, err := transcript.NewRecorder(f, header, t.Spec.Project, t.Again.Next)
		if err != nil {
			return NotStarted(ctx, err)
		}
		t.Again.Next, incomplete = recorder, recorder.Err
	}
	report := t.Run(ctx)
	_, unprinted := fmt.Fprint(out, report)
	if err := incomplete(); err != nil {
		return err
	}
	switch {
	case !report.Good():
		return ErrFailed
	case ctx.Err() != nil:
		return interrupted(ctx)
	case unprinted != nil:
		return fmt.Errorf("print the report: %w", unprinted)
	}
	return nil
}
