// Pages work without it. It fetches what is opened, keeps a page that is being written to up to date, and minds keys.
"use strict";

const main = document.getElementById("main");
const state = document.getElementById("live-state");

// an answer, or in words why there is none: the viewer may have ended under an open page
async function ask(address) {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (answer.ok) return { text: await answer.text() };
    return { why: answer.status === 403 ? STARTED_ANEW : "It could not be fetched: " + answer.status + "." };
  } catch {
    return { why: "The viewer does not answer. Is it still running?" };
  }
}
const STARTED_ANEW = "The viewer was started anew: open the address that it printed.";

async function fill(details) {
  const from = details.dataset.src;
  if (!from || details.dataset.filled) return;
  details.dataset.filled = "yes";
  const answer = await ask(from);
  const body = document.createElement("div");
  if (answer.why) {
    body.textContent = answer.why;
    body.setAttribute("role", "status");
    delete details.dataset.filled; // opened once more it is asked for again
  } else {
    // the server escapes all that is not its own, and its policy lets no script in this run
    body.innerHTML = answer.text;
  }
  for (const child of [...details.children]) if (child.tagName !== "SUMMARY") child.remove();
  details.append(body);
}

document.addEventListener("toggle", (event) => {
  if (event.target instanceof HTMLDetailsElement && event.target.open) fill(event.target);
}, true);

// What did not change stays the very node that it was, with its focus, selection and scroll position.
function morph(old, fresh) {
  for (const name of fresh.getAttributeNames()) {
    if (name !== "open" && old.getAttribute(name) !== fresh.getAttribute(name)) old.setAttribute(name, fresh.getAttribute(name));
  }
  for (const name of old.getAttributeNames()) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const same = next.id ? named.get(next.id) : at && !at.id && at.nodeName === next.nodeName ? at : null;
    if (!same) { old.insertBefore(next, at); continue; }
    if (same === at) at = at.nextSibling; else old.insertBefore(same, at);
    if (same.isEqualNode(next) || same.dataset?.filled) continue;
    if (next.nodeType === Node.ELEMENT_NODE) morph(same, next); else same.nodeValue = next.nodeValue;
  }
  while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
}

async function refresh() {
  const answer = await ask(location.href);
  if (answer.why) { state.textContent = answer.why; return; }
  const fresh = new DOMParser().parseFromString(answer.text, "text/html").getElementById("main");
  if (fresh) morph(main, fresh);
}

let source = null;
let pending = null;
function follow() {
  source = new EventSource("/events?after=" + encodeURIComponent(main.dataset.live));
  source.addEventListener("written", () => {
    if (pending) return;
    pending = setTimeout(async () => {
      pending = null;
      await refresh();
      if (main.dataset.live === undefined) { source.close(); state.textContent = "ended"; }
    }, 300);
  });
  source.onerror = async () => {
    state.textContent = "waiting for the viewer";
    if (source.readyState === EventSource.CLOSED) await refresh(); // it was refused, and says why
  };
  source.onopen = () => { state.textContent = "live"; };
}
if (main && main.dataset.live !== undefined && window.EventSource) {
  follow();
  // a browser keeps six connections to one server: pages that nobody looks at must not take them all
  document.addEventListener("visibilitychange", () => {
    if (main.dataset.live === undefined) return;
    source.close();
    if (!document.hidden) follow();
  });
}

for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const answer = await ask(button.dataset.from);
    if (answer.text) await navigator.clipboard.writeText(answer.text);
    button.textContent = answer.why || "Copied";
  });
}

const keys = [
  ["j", "next trial"], ["k", "trial before"], ["n", "next episode or page"], ["p", "episode or page before"],
  ["o", "open all of this page"], ["c", "close all"], ["/", "search"], ["?", "these keys"],
];
function turn(way) {
  const link = document.querySelector(`a[rel=${way}]`);
  if (link) link.click();
}
function trials() { return [...document.querySelectorAll("section.trial, article")]; }
function step(by) {
  const all = trials();
  const here = all.findIndex((t) => t.getBoundingClientRect().top > -10 + (by > 0 ? 70 : -70));
  const at = by > 0 ? (here < 0 ? all.length - 1 : here) : (here < 0 ? all.length - 1 : Math.max(0, here - 1));
  if (all[at]) { all[at].scrollIntoView(); all[at].querySelector("h1, h2")?.setAttribute("tabindex", "-1"); all[at].querySelector("h1, h2")?.focus({ preventScroll: true }); }
}
function help() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Keys");
  const list = document.createElement("dl");
  for (const [key, does] of keys) {
    const dt = document.createElement("dt"), kbd = document.createElement("kbd"), dd = document.createElement("dd");
    kbd.textContent = key; dt.append(kbd); dd.textContent = does; list.append(dt, dd);
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.append(list, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "n") turn("next");
  else if (event.key === "p") turn("prev");
  else if (event.key === "o" || event.key === "c") for (const d of main.querySelectorAll("details")) d.open = event.key === "o";
  else if (event.key === "/" && document.getElementById("find")) document.getElementById("find").focus();
  else if (event.key === "?") help();
  else return;
  event.preventDefault();
});
const button = document.getElementById("keys-button");
if (button) { button.hidden = false; button.addEventListener("click", help); }
