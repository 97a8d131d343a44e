"use strict";

// The page is made anew on the server; only its main part is exchanged, so that
// what is being typed and where one has scrolled to stay.
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
      // The daemon is gone for now; the page says so.
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
