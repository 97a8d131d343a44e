//go:build web

package web

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// axNode is a node of Chromium's accessibility tree for screen readers.
type axNode struct {
	Ignored    bool
	Role, Name struct{ Value any }
	Properties []struct {
		Name  string
		Value struct{ Value any }
	}
}

// named lists the roles that require a name.
var named = map[string]bool{
	"link": true, "button": true, "textbox": true, "searchbox": true, "combobox": true, "DisclosureTriangle": true,
	"image": true, "img": true, "form": true, "search": true, "heading": true, "columnheader": true, "option": true,
}

// accessible checks the page for users of screen readers and for users with low vision, in both
// color schemes.
func accessible(t *testing.T, b *browser, width int) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.screen(width, 900, scheme)
		var faults []string
		require.NoError(t, json.Unmarshal([]byte(b.eval("JSON.stringify("+faultsInDOM+")")), &faults))
		assert.Empty(t, faults, "%s, %d px, %s", b.eval("location.href"), width, scheme)
	}
	var tree struct{ Nodes []axNode }
	b.call("Accessibility.getFullAXTree", nil, &tree)
	count, level := map[string]int{}, 0
	for _, node := range tree.Nodes {
		role := fmt.Sprint(node.Role.Value)
		if node.Ignored {
			continue
		}
		count[role]++
		if named[role] {
			assert.NotEmpty(t, node.Name.Value, "a %s of %s is unnamed", role, b.eval("location.href"))
		}
		for _, p := range node.Properties {
			if role == "heading" && p.Name == "level" {
				next, _ := p.Value.Value.(float64)
				assert.LessOrEqual(t, int(next), level+1, "heading %v is of level %v, after one of level %d", node.Name.Value, next, level)
				level = int(next)
			}
		}
	}
	for _, role := range []string{"main", "banner", "contentinfo"} {
		assert.Equal(t, 1, count[role], "%s of %s", role, b.eval("location.href"))
	}
	if b.eval(`document.querySelector("main table") !== null`) == "true" {
		for _, role := range []string{"table", "row", "columnheader", "cell"} {
			assert.Positive(t, count[role], "a %s for the table of %s at %d px", role, b.eval("location.href"), width)
		}
	}
}

// faultsInDOM finds faults that the accessibility tree does not show. Contrast follows WCAG 2.1,
// 1.4.3, for small text.
const faultsInDOM = `(() => {
  const faults = [];
  const all = [...document.querySelectorAll("*")];
  if (!document.documentElement.lang) faults.push("no language");
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  const ids = all.map((e) => e.id).filter(Boolean);
  ids.forEach((id, i) => { if (ids.indexOf(id) !== i) faults.push("two elements have id " + id); });
  for (const e of document.querySelectorAll("[aria-labelledby]")) {
    for (const id of e.getAttribute("aria-labelledby").split(" ")) if (!ids.includes(id)) faults.push("no element has id " + id);
  }
  for (const e of document.querySelectorAll("svg:not([aria-hidden])")) {
    if (e.getAttribute("role") !== "img" || !e.querySelector(":scope > title")?.textContent || !e.querySelector(":scope > desc")?.textContent) {
      faults.push("an svg without role, title or desc");
    }
  }
  for (const e of document.querySelectorAll("[fill^='url(#']")) {
    if (!document.querySelector(e.getAttribute("fill").slice(4, -1))) faults.push("no pattern " + e.getAttribute("fill"));
  }
  for (const e of document.querySelectorAll("th:not([scope])")) faults.push("a th without scope: " + e.textContent);
  for (const e of document.querySelectorAll("table")) if (!e.querySelector("th")) faults.push("a table without th");
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) faults.push("a tabindex above 0");
  for (const e of document.querySelectorAll("[style], style, script:not([src])")) faults.push("inline: " + e.outerHTML);

  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !e.checkVisibility?.() || e.closest("title, desc, option, noscript")) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(parse(e.closest("svg") ? style.fill : style.color)), light(behind(e))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    seen++;
    if (contrast < 4.5) faults.push("contrast " + contrast.toFixed(1) + ": " + e.textContent.trim().slice(0, 60));
  }
  if (!seen) faults.push("no text");
  return faults;
})()`
