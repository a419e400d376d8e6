// The table of all comparisons.
const STEP = 100;
let rowsShown = STEP;

const COLUMNS = [
  ["cell", (it) => it.cell, (it) => cellName(run, run.cells[it.cell])],
  ["variant", (it) => it.variant, (it) => run.variants[it.variant].label],
  ["metric", (it) => it.name, (it) => it.name],
  ["baseline", null, (it) => full(it.from)],
  ["change", null, (it) => `${signed(it.change)}${interval(it, signed)} ${it.unit}`],
  ["size, % of the baseline", (it) => -it.size, (it) => (Number.isFinite(it.size) ? short(it.size) : "–")],
  ["certainty", (it) => -it.certainty, (it) => (it.certainty > 0 ? short(it.certainty) : "–")],
  ["resolved", (it) => it.resolved, (it) => ({ n: "no", l: "lower", h: "higher" })[it.resolved] ?? "no"],
];

// Every change that the report has, once for each run.
function comparisons() {
  if (run.comparisons) return run.comparisons;
  run.comparisons = [];
  const count = run.variants.length;
  const deciding = new Set(run.verdict.quantities.map((it) => it.metric));
  for (const [key, of] of Object.entries(run.figures)) {
    const [site, metric] = key.split(" ");
    const { words, changeUnit } = metrics.get(metric);
    const name = site === "worker" ? words : `${words}, ${site}`;
    const decides = deciding.has(metric) && (site === "worker" || site === run.site);
    of.change?.forEach((change, at) => {
      if (change === null) return;
      const [from, low, high] = [of.value[at - (at % count)], of.changeLow?.[at] ?? null, of.changeHigh?.[at] ?? null];
      run.comparisons.push({
        cell: Math.floor(at / count), variant: at % count, site, metric, name, unit: changeUnit, decides, from, change, low, high,
        resolved: of.resolved[at], size: Math.abs((100 * change) / from),
        certainty: high === null || high === low ? 0 : Math.abs(change) / ((high - low) / 2),
      });
    });
  }
  return run.comparisons;
}

function drawComparisons() {
  const cells = new Set(shownCells());
  const words = state.words.toLowerCase().split(/\s+/).filter((it) => it !== "");
  const has = (it) => {
    const row = `${cellName(run, run.cells[it.cell])} ${run.variants[it.variant].label} ${it.name}`.toLowerCase();
    return words.every((word) => row.includes(word));
  };
  const kept = comparisons().filter((it) => cells.has(it.cell) && (!state.resolved || it.resolved !== "n")
    && (!state.deciding || it.decides) && (words.length === 0 || has(it)));
  const [column, isDown] = [Math.abs(state.sort) - 1, state.sort > 0];
  const [, sortBy] = COLUMNS[column];
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const finite = (it) => (Number.isNaN(it) ? Infinity : it);
  kept.sort((a, b) => (isDown ? 1 : -1) * order(finite(sortBy(a)), finite(sortBy(b))));
  const head = COLUMNS.map(([name, by], at) => element("th", { "aria-sort": at !== column ? "none" : isDown ? "ascending" : "descending" },
    by ? element("button", { type: "button", onclick: () => setState({ sort: state.sort === at + 1 ? -(at + 1) : at + 1 }) },
      at === column ? `${name} ${isDown ? "▾" : "▴"}` : name) : name));
  const row = (it) => element("tr", {}, ...COLUMNS.map(([, , show], at) => element("td", {},
    at === 0 ? element("a", { href: linkTo({ cell: run.cells[it.cell].id, metric: it.metric, site: it.site === "worker" ? state.site : it.site, variant: it.variant, view: "difference" }) }, show(it)) : show(it))));
  const caption = `${whole.format(kept.length)} comparisons. Certainty: the change divided by half the width of its interval; above 1 the interval excludes zero.`;
  const more = element("button", { type: "button", onclick: () => {
    rowsShown += 10 * STEP;
    drawComparisons();
  } }, "Show more rows");
  byId("comparisons").replaceChildren(
    element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...kept.slice(0, rowsShown).map(row))), kept.length > rowsShown ? more : "");
}
