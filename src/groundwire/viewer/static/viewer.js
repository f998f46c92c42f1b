// Pages work without it. It fetches what is opened, keeps a page that is being written to up to date, and minds keys.
"use strict";

const main = document.getElementById("main");
const state = document.getElementById("live-state");

async function fill(details) {
  const from = details.dataset.src;
  if (!from || details.dataset.filled) return;
  details.dataset.filled = "yes";
  const answer = await fetch(from, { credentials: "same-origin" });
  const body = document.createElement("div");
  if (answer.ok) {
    // the server escapes all that is not its own, and its policy lets no script in this run
    body.innerHTML = await answer.text();
  } else {
    body.textContent = "It could not be fetched: " + answer.status + ".";
    delete details.dataset.filled;
  }
  for (const child of [...details.children]) if (child.tagName !== "SUMMARY") child.remove();
  details.append(body);
}

document.addEventListener("toggle", (event) => {
  if (event.target instanceof HTMLDetailsElement && event.target.open) fill(event.target);
}, true);

async function refresh() {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
  if (!fresh) return;
  const old = new Map([...main.querySelectorAll("details[id]")].map((d) => [d.id, d]));
  for (const details of fresh.querySelectorAll("details[id]")) {
    const before = old.get(details.id);
    if (!before) continue;
    if (before.dataset.filled) details.replaceWith(before); // what was fetched once is not fetched anew
    else details.open = before.open;
  }
  const held = document.activeElement && document.activeElement.closest("#main form") ? document.activeElement : null;
  if (held) return; // somebody is writing
  const top = window.scrollY;
  main.replaceChildren(...fresh.childNodes);
  if (fresh.dataset.live !== undefined) main.dataset.live = fresh.dataset.live; else delete main.dataset.live;
  window.scrollTo({ top, behavior: "instant" });
}

function follow() {
  const source = new EventSource("/events?after=" + encodeURIComponent(main.dataset.live));
  let pending = null;
  source.addEventListener("written", () => {
    if (pending) return;
    pending = setTimeout(async () => { pending = null; await refresh(); if (main.dataset.live === undefined) { source.close(); state.textContent = "ended"; } }, 300);
  });
  source.onerror = () => { state.textContent = "waiting for the viewer"; };
  source.onopen = () => { state.textContent = "live"; };
}
if (main && main.dataset.live !== undefined && window.EventSource) follow();

const keys = [
  ["j", "next trial"], ["k", "trial before"], ["o", "open all of this page"], ["c", "close all"], ["/", "search"], ["?", "these keys"],
];
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
  else if (event.key === "o" || event.key === "c") for (const d of main.querySelectorAll("details")) d.open = event.key === "o";
  else if (event.key === "/" && document.getElementById("find")) document.getElementById("find").focus();
  else if (event.key === "?") help();
  else return;
  event.preventDefault();
});
const button = document.getElementById("keys-button");
if (button) { button.hidden = false; button.addEventListener("click", help); }
