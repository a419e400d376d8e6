// The state of the page: what it shows. The fragment of the address keeps it, so that a link shows the same.
let run = page.runs[0];
let state = {};

// The names in the fragment, and how each is read and written.
const asText = { read: (value) => value, write: (value) => value };
const asNumber = { read: Number, write: String };
const asFlag = { read: (value) => value === "1", write: (value) => (value ? "1" : "0") };
const asList = { read: (value) => value.split(",").filter((part) => part !== ""), write: (value) => value.join(",") };
const KEYS = {
  r: ["run", asNumber], m: ["metric", asText], s: ["site", asText], v: ["variant", asNumber], w: ["view", asText],
  t: ["threshold", asNumber],
  g: ["grey", asFlag], hn: ["hiddenN", asList], hr: ["hiddenRtt", asList], hp: ["hiddenPayload", asList], c: ["cell", asText],
  o: ["sort", asNumber], d: ["resolved", asFlag], k: ["deciding", asFlag], q: ["words", asText], l: ["theme", asText],
};

// The state where the fragment says nothing.
function defaults() {
  const { candidates, leading } = run.verdict;
  const known = page.metrics.map((metric) => metric.name).filter((name) => run.site && figuresOf(run, name, run.site));
  const firing = candidates.find((candidate) => !candidate.neverFired)?.variant;
  return {
    run: page.runs.indexOf(run), metric: known[0] ?? page.metrics[0].name, site: run.site, variant: leading ?? firing ?? Math.min(1, run.variants.length - 1),
    view: run.variants.length > 1 ? "difference" : "before", threshold: run.threshold, grey: true, hiddenN: [], hiddenRtt: [], hiddenPayload: [],
    cell: "", sort: 7, resolved: comparisons().some((comparison) => comparison.resolved !== "n"), deciding: true, words: "", theme: "",
  };
}

function readState(link) {
  const given = new URLSearchParams(link.slice(1));
  run = page.runs[Number(given.get("r") ?? 0)] ?? page.runs[0];
  const read = defaults();
  for (const [key, [name, as]] of Object.entries(KEYS)) {
    const value = given.has(key) ? as.read(given.get(key)) : undefined;
    if (value !== undefined && !Number.isNaN(value)) read[name] = value;
  }
  // An address may ask for what is not there.
  const usual = defaults();
  if (!figuresOf(run, metrics.has(read.metric) ? read.metric : "", read.site)) Object.assign(read, { metric: usual.metric, site: usual.site });
  if (read.variant !== -1 && !run.variants[read.variant]) read.variant = usual.variant;
  if (!["before", "after", "difference"].includes(read.view)) read.view = usual.view;
  if (!COLUMNS[Math.abs(read.sort) - 1]?.[1]) read.sort = usual.sort;
  if (!run.thresholds.includes(read.threshold) || !followsSlider(run, read.metric, read.site)) read.threshold = usual.threshold;
  read.hidden = { n: read.hiddenN, rtt: read.hiddenRtt, payload: read.hiddenPayload };
  state = read;
}

function linkTo(changes) {
  const usual = defaults();
  const wanted = { ...state, ...changes };
  const fields = Object.entries(KEYS).filter(([, [name]]) => String(wanted[name]) !== String(usual[name]) || (name === "run" && wanted.run > 0));
  return `#${fields.map(([key, [name, as]]) => `${key}=${encodeURIComponent(as.write(wanted[name]))}`).join("&")}`;
}

function setState(changes) {
  readState(linkTo(changes));
  draw();
  remember();
}

function remember() {
  try {
    history.replaceState(null, "", linkTo({}));
  } catch {
    // Browsers refuse an address that changes too often. The next change will be there.
  }
}

const options = (select, pairs, chosen) => {
  select.replaceChildren(...pairs.map(([value, words]) => element("option", { value, selected: String(value) === String(chosen) }, words)));
  select.closest("label").hidden = pairs.length < 2;
};

function drawControls() {
  const known = (metric, site) => Boolean(figuresOf(run, metric, site));
  options(byId("run"), page.runs.map((other, at) => [at, other.name]), state.run);
  options(byId("metric"), page.metrics.filter((metric) => Object.keys(run.functions).some((site) => known(metric.name, site))).map((metric) => [metric.name, metric.words]), state.metric);
  const sites = Object.keys(run.functions).filter((site) => known(state.metric, site));
  options(byId("site"), metrics.get(state.metric).bySite ? sites.map((site) => [site, run.functions[site]]) : [], state.site);
  options(byId("variant"), [...run.variants.map((variant, at) => [at, variant.label]), [-1, "all side by side"]], state.variant);
  for (const radio of document.querySelectorAll("[name=view]")) radio.checked = radio.value === state.view;
  for (const flag of ["grey", "resolved", "deciding"]) byId(flag).checked = state[flag];
  byId("slider").hidden = !followsSlider(run, state.metric, state.site);
  byId("threshold").max = run.thresholds.length - 1;
  byId("threshold").value = run.thresholds.indexOf(state.threshold);
  drawThreshold();
  if (byId("words").value !== state.words) byId("words").value = state.words;
  drawFilters();
}

function drawThreshold() {
  byId("threshold").setAttribute("aria-valuetext", duration(state.threshold));
  byId("threshold-text").textContent = duration(state.threshold);
  drawCurve();
  followInTables(state.threshold);
}

// The verdict's tables have a row of the time beyond each threshold. They show the row of the slider's threshold.
function followInTables(threshold) {
  const rows = [...document.querySelectorAll("[data-threshold]")];
  for (const row of rows) row.hidden = Number(row.dataset.threshold) !== threshold;
  const hasLate = run.verdict.quantities.includes("cotenant_late_percent");
  byId("at-threshold").textContent = rows.length === 0 || threshold === run.threshold || !hasLate ? ""
    : `Only the first row follows the slider: late wake-ups are still those over ${duration(run.threshold)}.`;
}

function drawFilters() {
  const group = (name, key, words, values) => values.length < 2 ? [] : [element("span", { class: "filter", role: "group", "aria-label": name }, `${name} `,
    ...values.map((value) => element("label", {}, element("input", { type: "checkbox", checked: !state[key].includes(String(value)), "data-filter": key,
      value, onchange: (event) => setState({ [key]: event.target.checked ? state[key].filter((other) => other !== String(value)) : [...state[key], String(value)] }) }), words(value))))];
  const focused = document.activeElement?.dataset?.filter && [document.activeElement.dataset.filter, document.activeElement.value];
  const box = byId("filters");
  const parts = [...group("N", "hiddenN", String, run.peers), ...group("RTT, ms", "hiddenRtt", String, run.rtt),
    ...group("payload", "hiddenPayload", (at) => run.payload[at], run.payload.map((_, at) => at))];
  box.hidden = parts.length === 0;
  box.replaceChildren(element("legend", {}, "Cells"), ...parts);
  if (focused) box.querySelector(`[data-filter="${focused[0]}"][value="${focused[1]}"]`)?.focus();
}

function draw() {
  document.documentElement.dataset.theme = state.theme;
  byId("identity").textContent = run.identity;
  drawControls();
  drawGrid();
  drawCell();
  drawComparisons();
}

// Moving the slider repaints the pictures in the window at once, and all others when the slider rests.
let resting;

function slide(threshold) {
  state.threshold = threshold;
  drawThreshold();
  const isSeen = ({ figure }) => {
    const { top, bottom } = figure.getBoundingClientRect();
    return bottom > 0 && top < window.innerHeight;
  };
  const seen = new Set(drawn.filter(isSeen));
  paintGrid((picture) => seen.has(picture));
  const at = run.cells.findIndex((cell) => cell.id === state.cell);
  if (at >= 0) document.querySelector("#cell .pictures").replaceChildren(...cellPictures(at));
  clearTimeout(resting);
  resting = setTimeout(() => {
    paintGrid((picture) => !seen.has(picture));
    remember();
  }, 200);
}

function listen() {
  const on = (id, changes) => byId(id).addEventListener("change", (event) => setState(changes(event.target)));
  on("run", (select) => ({ run: Number(select.value) }));
  for (const id of ["metric", "site"]) on(id, (select) => ({ [id]: select.value }));
  on("variant", (select) => ({ variant: Number(select.value) }));
  for (const id of ["grey", "resolved", "deciding"]) on(id, (box) => ({ [id]: box.checked }));
  byId("views").addEventListener("change", (event) => setState({ view: event.target.value }));
  byId("threshold").addEventListener("input", (event) => slide(run.thresholds[Number(event.target.value)]));
  byId("words").addEventListener("input", (event) => setState({ words: event.target.value }));
  byId("theme").addEventListener("click", () => {
    const isDark = state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    setState({ theme: isDark ? "light" : "dark" });
  });
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", () => {
    readState(location.hash);
    draw();
    byId(state.cell ? "cell" : "explore").scrollIntoView({ block: "nearest" });
  });
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hideHover();
    if (state.cell) {
      const id = state.cell;
      setState({ cell: "" });
      document.querySelector(`[data-cell="${id}"]`)?.focus();
    }
  });
  // Paper is light.
  const redraw = (theme) => {
    document.documentElement.dataset.theme = theme;
    drawGrid();
  };
  window.addEventListener("beforeprint", () => redraw("light"));
  window.addEventListener("afterprint", () => redraw(state.theme));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

if (page.soak.length > 0) {
  document.documentElement.classList.add("moving");
  byId("soak").replaceChildren(...page.soak.map(seriesPicture));
}
if (page.runs.length > 0) {
  document.documentElement.classList.add("moving");
  byId("explore").hidden = false;
  byId("further").hidden = false;
  byId("theme").hidden = false;
  readState(location.hash);
  draw();
  listen();
  if (state.cell) byId("cell").scrollIntoView({ block: "nearest" });
}
