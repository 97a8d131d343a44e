package scontrol

import (
	"errors"
	"regexp"
	"strings"

	"slurmflex/slurm"
)

// The kinds of failures of a command, for errors.Is.
var (
	// ErrNoController means that slurmctld cannot be reached or does not answer.
	ErrNoController = errors.New("slurmctld does not answer")
	// ErrUnknownJob means that slurmctld does not know the job.
	ErrUnknownJob = errors.New("no such job")
	// ErrJobEnded means that the job has ended, although slurmctld still knows it.
	ErrJobEnded = errors.New("job has ended")
	// ErrUnknownNode means that slurmctld does not know the node.
	ErrUnknownNode = errors.New("no such node")
	// ErrReservationExists means that a reservation of this name already exists.
	ErrReservationExists = errors.New("reservation exists")
	// ErrUnknownReservation means that slurmctld does not know the reservation.
	ErrUnknownReservation = errors.New("no such reservation")
)

// failure is the error of a failed command, with Slurm's own message.
type failure struct {
	call, words string
	kind        error // one of the errors above, or nil
}

func (f *failure) Error() string { return f.call + ": " + f.words }

func (f *failure) Unwrap() error { return f.kind }

// Answer returns slurmctld's own message; empty if slurmctld did not answer.
func (f *failure) Answer() string {
	if errors.Is(f.kind, ErrNoController) {
		return ""
	}
	return f.words
}

// classify finds the kind of failure in Slurm's message. The texts are those of slurm_strerror, the
// same from 22.05 to 26.05.
func classify(words string) error {
	switch {
	case strings.Contains(words, "Invalid job id specified"):
		return ErrUnknownJob
	case strings.Contains(words, "Invalid node name specified"):
		return ErrUnknownNode
	case strings.Contains(words, "Job has already finished"),
		strings.Contains(words, "Job/step already completing or completed"):
		return ErrJobEnded
	case strings.Contains(words, "Duplicate reservation name"):
		return ErrReservationExists
	case strings.Contains(words, "creating the reservation: Unspecified error"), strings.Contains(words, "creating the reservation: Invalid user"):
		return slurm.ErrUserUnknown
	case strings.Contains(words, "Reservation already started"):
		return slurm.ErrReservationStarted
	case strings.Contains(words, "Requested reservation is invalid"):
		return ErrUnknownReservation
	case strings.Contains(words, "Unable to contact slurm controller"),
		strings.Contains(words, "Socket timed out on send/recv operation"):
		return ErrNoController
	}
	return nil
}

const (
	maxWordLines = 3   // lines of a command's output in an error
	maxWords     = 300 // bytes of a command's output in an error
	maxCall      = 120 // bytes of the command line in an error
)

// saidBy matches the name of the command or function before Slurm's message.
var saidBy = regexp.MustCompile(`^(?:\w+: )?(?:\w+ error|error|fatal): `)

// ownWords returns the beginning of a command's output on one line.
func ownWords(printed []byte) string {
	var lines []string
	for line := range strings.Lines(string(printed)) {
		line = saidBy.ReplaceAllString(plain(line, maxWords), "")
		if line != "" {
			lines = append(lines, line)
		}
		if len(lines) == maxWordLines {
			break
		}
	}
	return plain(strings.Join(lines, "; "), maxWords)
}

// describe returns the command line for an error.
func describe(program string, args []string) string {
	return plain(program+" "+strings.Join(args, " "), maxCall)
}

// after prepends a separator to text, unless text is empty.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
