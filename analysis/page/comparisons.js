// The table of all comparisons.
const STEP = 100;
let rowsShown = STEP;

const COLUMNS = [
  ["cell", (row) => row.cell, (row) => cellName(run, run.cells[row.cell])],
  ["variant", (row) => row.variant, (row) => run.variants[row.variant].label],
  ["metric", (row) => row.name, (row) => row.name],
  ["baseline", null, (row) => full(row.from)],
  ["change", null, (row) => `${signed(row.change)}${interval(row, signed)} ${row.unit}`],
  ["size, % of the baseline", (row) => -row.size, (row) => (Number.isFinite(row.size) ? short(row.size) : "–")],
  ["certainty", (row) => -row.certainty, (row) => (row.certainty > 0 ? short(row.certainty) : "–")],
  ["resolved", (row) => row.resolved, (row) => ({ n: "no", l: "lower", h: "higher" })[row.resolved] ?? "no"],
];

// Every change that the report has. The list is made once for each run.
function comparisons() {
  if (run.comparisons) return run.comparisons;
  run.comparisons = [];
  const count = run.variants.length;
  const deciding = new Set(run.verdict.quantities);
  for (const [key, figures] of Object.entries(run.figures)) {
    const [site, metric] = key.split(" ");
    const { words, changeUnit } = metrics.get(metric);
    const name = site === "worker" ? words : `${words}, ${site}`;
    const decides = deciding.has(metric) && (site === "worker" || site === run.site);
    figures.change?.forEach((value, at) => {
      if (value === null) return;
      const [from, low, high] = [figures.value[at - (at % count)], figures.changeLow?.[at] ?? null, figures.changeHigh?.[at] ?? null];
      run.comparisons.push({
        cell: Math.floor(at / count), variant: at % count, site, metric, name, unit: changeUnit, decides, from, change: value, low, high,
        resolved: figures.resolved[at], size: Math.abs((100 * value) / from),
        certainty: high === null || high === low ? 0 : Math.abs(value) / ((high - low) / 2),
      });
    });
  }
  return run.comparisons;
}

function drawComparisons() {
  const cells = new Set(shownCells());
  const words = state.words.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const has = (comparison) => {
    const row = `${cellName(run, run.cells[comparison.cell])} ${run.variants[comparison.variant].label} ${comparison.name}`.toLowerCase();
    return words.every((word) => row.includes(word));
  };
  const kept = comparisons().filter((comparison) => cells.has(comparison.cell) && (!state.resolved || comparison.resolved !== "n")
    && (!state.deciding || comparison.decides) && (words.length === 0 || has(comparison)));
  const [column, isDown] = [Math.abs(state.sort) - 1, state.sort > 0];
  const [, sortBy] = COLUMNS[column];
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const finite = (value) => (Number.isNaN(value) ? Infinity : value);
  kept.sort((a, b) => (isDown ? 1 : -1) * order(finite(sortBy(a)), finite(sortBy(b))));
  const head = COLUMNS.map(([name, by], at) => element("th", { "aria-sort": at !== column ? "none" : isDown ? "ascending" : "descending" },
    by ? element("button", { type: "button", onclick: () => setState({ sort: state.sort === at + 1 ? -(at + 1) : at + 1 }) },
      at === column ? `${name} ${isDown ? "▾" : "▴"}` : name) : name));
  const row = (comparison) => element("tr", {}, ...COLUMNS.map(([, , show], at) => element("td", {},
    at === 0 ? element("a", { href: linkTo({ cell: run.cells[comparison.cell].id, metric: comparison.metric, site: comparison.site === "worker" ? state.site : comparison.site, variant: comparison.variant, view: "difference" }) }, show(comparison)) : show(comparison))));
  const caption = `${whole.format(kept.length)} comparisons. Certainty is the change divided by half the width of its interval. Above 1, the interval excludes zero.`;
  const more = element("button", { type: "button", onclick: () => {
    rowsShown += 10 * STEP;
    drawComparisons();
  } }, "Show more rows");
  byId("comparisons").replaceChildren(
    element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...kept.slice(0, rowsShown).map(row))), kept.length > rowsShown ? more : "");
}
