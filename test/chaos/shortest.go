package chaos

// shortest takes events out of a day as long as it still breaks, in pieces that
// get smaller, and returns the shortest day found. It tries at most so many
// days.
func shortest(d day, breaks func(day) bool, tries int) day {
	for piece := (len(d.script) + 1) / 2; piece > 0; {
		shorter := false
		for from := 0; from < len(d.script); {
			if tries == 0 {
				return d
			}
			tries--
			to := min(from+piece, len(d.script))
			if less := d.without(d.script[from:to]); breaks(less) {
				d, shorter = less, true
			} else {
				from = to
			}
		}
		switch {
		case piece > 1:
			piece /= 2
		case !shorter:
			return d
		}
	}
	return d
}
