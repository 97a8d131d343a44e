"use strict";

// The server renders the page again; only its main part is replaced, so that the
// text being typed and the scroll position stay.
async function refresh() {
  let next = null;
  if (!document.hidden) {
    try {
      const answer = await fetch("/", {headers: {Accept: "text/html"}});
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        next = page.querySelector("main");
      }
    } catch {
      // The daemon does not answer; the page says so.
    }
    if (next) {
      document.querySelector("main").replaceWith(next);
    } else {
      document.getElementById("stale").hidden = false;
    }
  }
  setTimeout(refresh, 5000);
}

setTimeout(refresh, 5000);
