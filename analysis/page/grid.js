// The grid: a small table of cells for each payload and variant.
const CELL = { width: 47, height: 26, left: 26, top: 20 };

// The indices of the cells that the filters leave.
function shownCells() {
  const keep = (name, value) => !state.hidden[name].includes(String(value));
  return run.cells.map((cell, at) => at).filter((at) => {
    const cell = run.cells[at];
    return keep("n", cell.n) && keep("rtt", cell.rtt) && keep("payload", cell.payload);
  });
}

// The facets of each payload. A facet shows the levels of a variant, or its differences from the baseline.
function facets() {
  const candidates = run.variants.map((_, at) => at);
  const chosen = state.variant === -1 ? candidates : [state.variant];
  const changed = chosen.filter((variant) => variant !== 0);
  if (state.view === "before") return [{ variant: 0, isChange: false }];
  const isChange = state.view === "difference";
  return (isChange ? changed : chosen).map((variant) => ({ variant, isChange }));
}

const levelIn = (at, variant) => level(run, state.metric, state.site, at, variant, state.threshold);
const valueIn = (facet, at) => (facet.isChange
  ? change(run, state.metric, state.site, at, facet.variant, state.threshold) : levelIn(at, facet.variant));

// One scale for all variants, so that their pictures can be laid side by side.
function scales(cells) {
  const most = { level: 0, change: 0 };
  for (const at of cells) {
    run.variants.forEach((_, variant) => {
      const value = levelIn(at, variant);
      if (value) most.level = Math.max(most.level, value.value);
      const changed = variant > 0 && change(run, state.metric, state.site, at, variant, state.threshold);
      if (changed && (!state.grey || changed.resolved !== "n")) most.change = Math.max(most.change, Math.abs(changed.value));
    });
  }
  return most;
}

function describe(at, facet) {
  const cell = run.cells[at];
  const metric = metrics.get(state.metric);
  const lines = [cellName(run, cell)];
  if (cell.why) return [...lines, cell.why];
  const value = levelIn(at, facet.variant);
  const { label } = run.variants[facet.variant];
  if (!value) return [...lines, `${label}: no value of ${metric.words}`];
  lines.push(`${label}: ${full(value.value)}${interval(value)} ${metric.unit}`);
  const changed = facet.variant > 0 && change(run, state.metric, state.site, at, facet.variant, state.threshold);
  if (changed) {
    const known = { n: "not resolved", l: "resolved, lower", h: "resolved, higher" }[changed.resolved];
    lines.push(`change: ${signed(changed.value)}${interval(changed, signed)} ${metric.changeUnit}, ${known}`);
  }
  return [...lines, made(run, state.metric, state.site, at, facet.variant)];
}

// The pictures that are drawn, with their cells. A move of the slider paints them anew.
let drawn = [];

function gridCell(at, facet, place, isFirst) {
  const { id } = run.cells[at];
  const middle = { x: CELL.width / 2, "text-anchor": "middle" };
  const group = element("g", {
    role: "button", tabindex: isFirst ? 0 : -1, class: state.cell === id ? "cell chosen" : "cell", "data-cell": id,
    "data-variant": facet.variant, "data-row": place.row, "data-column": place.column, transform: `translate(${place.x} ${place.y})`,
    onclick: () => openCell(id), onkeydown: moveInGrid, ...hovering(() => describe(at, facet)),
  },
    element("rect", { width: CELL.width - 1, height: CELL.height - 1 }),
    element("text", { ...middle, y: 17 }));
  return { group, at };
}

function valueText(value, isChange) {
  const words = short(noFiner(value));
  return isChange && value.value > 0 && words !== "0" ? `+${words}` : words;
}

function paintCell({ group, at }, facet, most) {
  const cell = run.cells[at];
  const value = cell.why ? null : valueIn(facet, at);
  const isGrey = value && facet.isChange && state.grey && value.resolved === "n";
  const { better, unit, changeUnit } = metrics.get(state.metric);
  const [colour, ink] = !value || isGrey ? ["var(--grey)", "var(--faint)"]
    : facet.isChange ? changeShade(value.value, most.change, better) : levelShade(value.value, most.level);
  const words = value ? valueText(value, facet.isChange) : cell.why ? "✕" : "–";
  const ends = value && value.low !== null
    ? briefInterval(value.value, value.low, value.high) : "";
  const [rect, label] = group.children;
  rect.style.fill = colour;
  label.textContent = words;
  group.style.setProperty("--own-ink", ink);
  group.setAttribute("aria-label", `${cellName(run, cell)}, ${run.variants[facet.variant].label}: ${words} ${value ? (facet.isChange ? changeUnit : unit) : ""} ${ends}`);
}

function paintGrid(isPainted = () => true) {
  const most = scales(shownCells());
  for (const { facet, cells } of drawn.filter(isPainted)) cells.forEach((cell) => paintCell(cell, facet, most));
  drawScales(most, facets());
}

function facetPicture(facet, payload, cells) {
  const peers = [...new Set(cells.map((at) => run.cells[at].n))];
  const rtts = [...new Set(cells.map((at) => run.cells[at].rtt))].sort((a, b) => a - b);
  const [width, height] = [CELL.left + rtts.length * CELL.width + 4, CELL.top + peers.length * CELL.height + 4];
  const isOne = facets().length < 2;
  const name = run.payload[payload] + (isOne ? "" : `: ${run.variants[facet.variant].label}`);
  const parts = [text(2, 14, "N", { class: "axis" })];
  rtts.forEach((rtt, at) => parts.push(text(CELL.left + (at + 0.5) * CELL.width, 14, at === 0 ? `RTT ${rtt} ms` : `${rtt}`,
    { "text-anchor": "middle", class: "axis" })));
  peers.forEach((n, at) => parts.push(text(CELL.left - 6, CELL.top + at * CELL.height + 17, n, { "text-anchor": "end", class: "axis" })));
  const own = cells.map((at, order) => {
    const [row, column] = [peers.indexOf(run.cells[at].n), rtts.indexOf(run.cells[at].rtt)];
    return gridCell(at, facet, { x: CELL.left + column * CELL.width, y: CELL.top + row * CELL.height, row, column }, order === 0);
  });
  const picture = svg(width, height, name, ...parts, ...own.map((cell) => cell.group));
  const figure = element("figure", { style: `--width: ${width}px` }, element("figcaption", {}, name), picture);
  drawn.push({ figure, facet, cells: own });
  return figure;
}

// Arrow keys move between the cells of a picture. Enter and the space bar open a cell.
function moveInGrid(event) {
  const here = event.currentTarget;
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (event.key === "Enter" || event.key === " ") here.dispatchEvent(new MouseEvent("click"));
  else if (step) {
    const [row, column] = [Number(here.dataset.row) + step[0], Number(here.dataset.column) + step[1]];
    const next = here.parentNode.querySelector(`[data-row="${row}"][data-column="${column}"]`);
    if (next) {
      here.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    }
  } else return;
  event.preventDefault();
}

function drawGrid() {
  const cells = shownCells();
  const shown = facets();
  drawn = [];
  const payloads = [...new Set(cells.map((at) => run.cells[at].payload))];
  const rows = payloads.map((payload) => {
    const own = cells.filter((at) => run.cells[at].payload === payload);
    return shown.map((facet) => facetPicture(facet, payload, own));
  });
  if (cells.length === 0) rows.push(element("p", {}, "The filters leave no cell."));
  if (cells.length > 0 && shown.length === 0) rows.push(element("p", {}, "The baseline has no difference from itself. Choose another variant."));
  paintGrid();
  byId("grid").replaceChildren(element("div", { class: "facets" }, ...rows.flat()));
}

function drawScales(most, shown) {
  const metric = metrics.get(state.metric);
  const bar = (name, shades, from, to, unit) => element("p", { class: "scale" }, `${name}: ${from} `,
    ...shades.map(([colour]) => element("span", { style: `background: ${colour}` })), ` ${to} ${unit}`);
  const bars = [];
  if (shown.some((facet) => !facet.isChange)) {
    bars.push(bar(metric.words, page.colours.level, "0", short(most.level), metric.unit));
  }
  if (shown.some((facet) => facet.isChange)) {
    const shades = metric.better > 0 ? page.colours.change : [...page.colours.change].reverse();
    if (most.change > 0) bars.push(bar("difference", shades, `−${short(most.change)}`, `+${short(most.change)}`, metric.changeUnit));
    const meaning = metric.better === 0 ? "Blue is less, red is more." : "Blue is better, red is worse.";
    bars.push(element("p", {}, state.grey ? `${meaning} Grey is not resolved: not significant after correction for the number of comparisons.` : meaning));
  }
  byId("scales").replaceChildren(...bars);
}
