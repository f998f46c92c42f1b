() => {
  const wrong = [];
  const shown = (e) => e.outerHTML.slice(0, 120);
  const named = (e) => (e.getAttribute("aria-label") || e.textContent || e.title || "").trim();
  for (const e of document.querySelectorAll("a, button, summary")) if (!named(e)) wrong.push("no name: " + shown(e));
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!e.labels.length && !e.getAttribute("aria-label")) wrong.push("no label: " + shown(e));
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("two of " + id);
  for (const e of document.querySelectorAll("[aria-labelledby]"))
    if (!document.getElementById(e.getAttribute("aria-labelledby"))) wrong.push("labelled by nothing: " + shown(e));

  // contrast, as WCAG 2 counts it
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  for (const e of document.querySelectorAll("main *")) {
    const hasText = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
    if (!hasText || e.closest("svg, .hide") || !e.checkVisibility()) continue;
    const [one, other] = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < 4.5) wrong.push("contrast " + contrast.toFixed(1) + ": " + shown(e));
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the window");
  if (!document.documentElement.lang || document.querySelectorAll("h1").length !== 1) wrong.push("no language or no single h1");
  return wrong;
}
