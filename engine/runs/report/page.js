"use strict";
// Folded parts open when a link leads to them, and all at once by two buttons.
(() => {
  const all = (open) => document.querySelectorAll("main details").forEach((d) => { d.open = open; });
  const show = () => {
    const at = document.getElementById(location.hash.slice(1));
    if (!at) return;
    for (let e = at; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    at.scrollIntoView();
    (at.querySelector("summary") || at).focus({ preventScroll: true });
  };
  addEventListener("hashchange", show);
  document.addEventListener("click", (e) => {
    const link = e.target.closest && e.target.closest("a");
    // Where the place is the same, no hashchange comes. The browser moves the focus first.
    if (link && link.getAttribute("href") === location.hash) setTimeout(show);
  });
  document.getElementById("unfold").addEventListener("click", () => all(true));
  document.getElementById("fold").addEventListener("click", () => all(false));
  document.getElementById("tools").hidden = false;
  if (location.hash) show();
})();
