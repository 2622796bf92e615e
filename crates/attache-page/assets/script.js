// Pages are complete without this script. It makes them live, and quick to use.
"use strict";

const main = document.getElementById("main");
const connection = document.getElementById("connection");
const box = document.getElementById("search");
const results = document.getElementById("results");

// Copy a command.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// Forms that need no button.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

// What the script adds to a page, also after a part of it was replaced.
function enhance() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
  for (const button of document.querySelectorAll("[data-save]")) button.hidden = false;
  matrix();
  picture();
}

// Save what was written.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-save]");
  if (!button) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([document.getElementById(button.dataset.save).value], { type: "application/yaml" }));
  link.download = button.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

// Search: found while one types.
let asked = 0;
async function search() {
  const number = ++asked;
  const text = box.value.trim();
  if (!text) { close(); return; }
  const response = await fetch(`/search?q=${encodeURIComponent(text)}`).catch(() => null);
  if (number !== asked || !response || !response.ok) return;
  results.innerHTML = await response.text();
  results.hidden = false;
  box.ariaExpanded = "true";
  box.removeAttribute("aria-activedescendant");
}
function close() {
  results.hidden = true;
  box.ariaExpanded = "false";
  box.removeAttribute("aria-activedescendant");
}
const options = () => [...results.querySelectorAll("[role=option]")];
function select(step) {
  const all = options();
  const at = all.findIndex((it) => it.getAttribute("aria-selected") === "true");
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all.forEach((it, i) => { it.id = `result-${i}`; it.ariaSelected = String(i === next); });
  if (!all[next]) return;
  box.setAttribute("aria-activedescendant", all[next].id);
  all[next].scrollIntoView({ block: "nearest" });
}
let typing;
box.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(search, 80); });
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (results.hidden) search(); else select(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    const chosen = options().find((it) => it.getAttribute("aria-selected") === "true");
    if (chosen && !results.hidden) { event.preventDefault(); chosen.click(); }
  } else if (event.key === "Escape") {
    close();
    if (!box.value) box.blur(); else box.value = "";
    event.preventDefault();
  }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) close(); });
document.addEventListener("keydown", (event) => {
  const writes = event.target.matches("input, textarea, select");
  if ((event.key === "/" && !writes && !event.ctrlKey && !event.metaKey) || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
    event.preventDefault();
    box.focus();
    box.select();
  }
});

// The matrix: only the rows that are seen are asked for.
function matrix() {
  const area = document.getElementById("matrix");
  if (!area || area.dataset.ready) return;
  area.dataset.ready = "yes";
  const total = Number(area.dataset.total);
  const body = area.querySelector("tbody");
  if (Number(area.dataset.from) > 0 || body.rows.length >= total) return;
  const pages = area.parentElement.querySelector(".pages");
  if (pages) pages.hidden = true;
  const columns = area.querySelector("thead tr").cells.length;
  const height = () => parseFloat(getComputedStyle(area.querySelector("table")).getPropertyValue("--row"));
  const spacer = () => { const row = document.createElement("tr"); row.ariaHidden = "true"; row.append(document.createElement("td")); row.firstChild.colSpan = columns; row.firstChild.className = "spacer"; return row; };
  const [above, below] = [spacer(), spacer()];
  let shown = [0, body.rows.length];
  const place = (from, to) => {
    above.firstChild.style.height = `${from * height()}px`;
    below.firstChild.style.height = `${(total - to) * height()}px`;
    above.hidden = from === 0;
    below.hidden = to >= total;
    shown = [from, to];
  };
  body.prepend(above);
  body.append(below);
  place(0, shown[1]);
  let busy = false;
  const look = async () => {
    if (busy) return;
    const first = Math.floor(area.scrollTop / height());
    const seen = Math.ceil(area.clientHeight / height()) + 1;
    if (first >= shown[0] && Math.min(first + seen, total) <= shown[1]) return;
    busy = true;
    const from = Math.max(0, first - 40);
    const address = `${area.dataset.rows}${area.dataset.rows.includes("?") ? "&" : "?"}from=${from}&most=${seen + 80}`;
    const response = await fetch(address).catch(() => null);
    if (response && response.ok) {
      const part = document.createElement("tbody");
      part.innerHTML = await response.text();
      const rows = [...part.rows];
      if (before) mark(before, part);
      before = null;
      body.replaceChildren(above, ...rows, below);
      place(from, from + rows.length);
    }
    busy = false;
    requestAnimationFrame(look);
  };
  area.addEventListener("scroll", look, { passive: true });
  addEventListener("resize", look);
}

// The picture of the topology: zoom, pan, find.
function picture() {
  const area = document.getElementById("picture");
  const drawing = area && area.querySelector("svg");
  if (!drawing || area.dataset.ready) return;
  area.dataset.ready = "yes";
  const [width, height] = [drawing.width.baseVal.value, drawing.height.baseVal.value];
  let scale = 1;
  const zoom = (next, x = area.clientWidth / 2, y = area.clientHeight / 2) => {
    next = Math.min(Math.max(next, 0.05), 4);
    const [left, top] = [(area.scrollLeft + x) / scale, (area.scrollTop + y) / scale];
    drawing.setAttribute("width", width * next);
    drawing.setAttribute("height", height * next);
    [area.scrollLeft, area.scrollTop] = [left * next - x, top * next - y];
    scale = next;
  };
  const fit = () => zoom(Math.min(area.clientWidth / width, area.clientHeight / height, 1));
  const center = (node) => {
    const [at, frame] = [node.getBoundingClientRect(), area.getBoundingClientRect()];
    area.scrollLeft += at.left - frame.left - (area.clientWidth - at.width) / 2;
    area.scrollTop += at.top - frame.top - (area.clientHeight - at.height) / 2;
  };
  document.getElementById("zoom").hidden = false;
  document.getElementById("zoom").addEventListener("click", (event) => {
    const step = event.target.dataset.zoom;
    if (step === "in") zoom(scale * 1.25); else if (step === "out") zoom(scale / 1.25); else if (step === "fit") fit();
  });
  area.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = area.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  area.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoom(scale * 1.25); else if (event.key === "-") zoom(scale / 1.25); else if (event.key === "0") fit(); else return;
    event.preventDefault();
  });
  area.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.closest("a")) return;
    const from = [event.clientX + area.scrollLeft, event.clientY + area.scrollTop];
    const move = (it) => { area.scrollLeft = from[0] - it.clientX; area.scrollTop = from[1] - it.clientY; };
    area.classList.add("grab");
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => { removeEventListener("pointermove", move); area.classList.remove("grab"); }, { once: true });
  });
  document.getElementById("find").addEventListener("input", (event) => {
    const text = event.target.value.trim().toLowerCase();
    const nodes = [...drawing.querySelectorAll("g[transform]")];
    for (const node of nodes) node.classList.toggle("found", !!text && node.textContent.toLowerCase().includes(text));
    const first = nodes.find((node) => node.classList.contains("found"));
    if (first) center(first);
  });
  const focused = drawing.querySelector(".focused");
  // A picture that is too wide shrinks, as long as it can be read.
  if (focused) center(focused); else if (width > area.clientWidth) zoom(Math.max(area.clientWidth / width, 0.8), 0, 0);
}

// A page of the same view without leaving it.
async function load(address) {
  const response = await fetch(address, { headers: { accept: "text/html" } }).catch(() => null);
  if (!response) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-soft]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const page = await load(link.href);
  if (!page) { location.href = link.href; return; }
  history.pushState(null, "", link.href);
  const again = link.textContent;
  show(page);
  const focus = [...main.querySelectorAll("a[data-soft]")].find((it) => it.textContent === again);
  if (focus) focus.focus();
});
addEventListener("popstate", async () => {
  const page = await load(location.href);
  if (page) show(page); else location.reload();
});
function show(page) {
  main.replaceChildren(...page.getElementById("main").childNodes);
  main.className = page.getElementById("main").className;
  document.title = page.title;
  document.documentElement.dataset.revision = page.documentElement.dataset.revision;
  enhance();
}

// Live: a new revision is shown where it makes a difference.
// What was shown before a new revision, by key.
let before = null;
const texts = (node) => new Map([...node.querySelectorAll("[data-key]")].map((it) => [it.dataset.key, it.textContent]));
const shape = (node) => [...node.querySelectorAll("*")].map((it) => it.tagName + (it.dataset.key || "")).join();
function mark(known, after) {
  for (const it of after.querySelectorAll("[data-key]")) {
    const isNew = !known.has(it.dataset.key);
    // Of what is inside of each other, the smallest part.
    if (isNew || (known.get(it.dataset.key) !== it.textContent && !it.querySelector("[data-key]"))) it.classList.add("changed");
  }
}
async function refresh(force) {
  const page = await load(location.href);
  if (!page) return;
  const fresh = page.getElementById("main");
  const nav = page.querySelector(".top nav");
  document.querySelector(".top nav").replaceChildren(...nav.childNodes);
  counted();
  const writes = main.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
  const jumps = shape(main) !== shape(fresh) && main.matches(":hover");
  if (!force && (main.dataset.keep !== undefined || main.querySelector("[data-keep]") || writes || jumps)) { waiting(); return; }
  const area = document.getElementById("matrix");
  const top = area ? area.scrollTop : 0;
  const opened = [...main.querySelectorAll("details")].map((it) => it.open);
  before = texts(main);
  const isAtTop = !area || top === 0;
  // Rows of the matrix that are further down are marked when they arrive.
  if (isAtTop) { mark(before, fresh); before = null; }
  const y = scrollY;
  show(page);
  [...main.querySelectorAll("details")].forEach((it, i) => { if (opened[i]) it.open = true; });
  if (document.getElementById("matrix")) document.getElementById("matrix").scrollTop = top;
  scrollTo(0, y);
  live();
}
function say(name, text, action) {
  connection.className = `connection ${name}`;
  connection.replaceChildren(text);
  if (action) {
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Show";
    button.addEventListener("click", action);
    connection.append(button);
  }
}
function live() { say("live", "Live"); }
function waiting() { say("waiting", "Something changed", () => refresh(true)); }
const opened = Number(document.documentElement.dataset.revision.split("-")[1]);
function counted() {
  const badge = document.getElementById("new-changes");
  const now = Number((latest || "").split("-")[1] || opened);
  if (badge && now > opened) { badge.textContent = String(now - opened); badge.hidden = false; }
}
let latest;
// Browsers open six connections to a server. A page that is not seen must not keep one of them.
let source;
function listen() {
  if (source) return;
  source = new EventSource("/events");
  source.addEventListener("revision", (event) => {
    latest = event.data;
    if (event.data !== document.documentElement.dataset.revision) refresh(false); else live();
  });
  source.addEventListener("error", () => say("lost", "No connection, trying again"));
}
function leave() {
  if (source) source.close();
  source = undefined;
}
addEventListener("pagehide", leave);
addEventListener("pageshow", listen);
document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); else listen(); });
listen();

enhance();
