package memory

import (
	"time"

	"slurmflex/flex/plan/scene"
)

// templates caches the instance templates that could be read. Only passes use it, one after the
// other.
type templates struct {
	known map[string]scene.Template
	since time.Time
}

// Expire forgets all templates after SettingsAge.
func (t *templates) Expire(now time.Time) {
	if age(now, t.since) >= SettingsAge {
		t.known, t.since = map[string]scene.Template{}, now
	}
}

// Of returns a known template.
func (t *templates) Of(link string) (template scene.Template, known bool) {
	template, known = t.known[link]
	return template, known
}

// Keep remembers a template.
func (t *templates) Keep(link string, template scene.Template) { t.known[link] = template }
