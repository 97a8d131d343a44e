"use strict";

// The server renders the page again, in the reader's time zone. Only the main part
// is replaced, so that the text being typed and the scroll position stay.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

async function load() {
  try {
    const answer = await fetch(location.href, {headers: {Accept: "text/html", "Time-Zone": zone}});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return page.querySelector("main");
  } catch {
    return null; // the daemon does not answer; the page says so
  }
}

// What is open stays open, and the focus stays where it is.
function show(next) {
  const old = document.querySelector("main");
  const names = [...old.querySelectorAll("details[open]")].map((details) => details.id);
  for (const details of next.querySelectorAll("details")) {
    details.open = names.includes(details.id);
  }
  const focus = document.activeElement;
  old.replaceWith(next);
  const same = (node) => node.localName === focus.localName && node.textContent === focus.textContent;
  if (!focus.isConnected) {
    [...next.querySelectorAll("a, summary")].find(same)?.focus({preventScroll: true});
  }
}

async function refresh() {
  if (!document.hidden) {
    const next = await load();
    if (next) show(next);
    document.getElementById("stale").hidden = Boolean(next);
  }
  setTimeout(refresh, 5000);
}

refresh();
