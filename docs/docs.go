// Package docs holds the page to which the daemon's page and the alerts link.
package docs

import _ "embed"

// Troubleshooting is the troubleshooting page, in Markdown.
//
//go:embed troubleshooting.md
var Troubleshooting string
