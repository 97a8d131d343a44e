// Package docs holds the pages to which the daemon's page links.
package docs

import "embed"

// Pages has them by file name.
//
//go:embed user-guide.md troubleshooting.md reference.md
var Pages embed.FS
