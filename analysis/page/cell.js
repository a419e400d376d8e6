// The panel of one cell.
const PLOT = { width: widthOf(520), height: 260, left: 62, bottom: 34 };

function openCell(id) {
  hideHover();
  setState({ cell: state.cell === id ? "" : id });
  if (state.cell) byId("cell").focus();
}

function drawCell() {
  const panel = byId("cell");
  const at = run.cells.findIndex((cell) => cell.id === state.cell);
  panel.hidden = at < 0;
  if (at < 0) return;
  const cell = run.cells[at];
  const close = element("button", { type: "button", id: "close", onclick: () => setState({ cell: "" }) }, "Close");
  const parts = [element("h3", { id: "cell-title" }, cellName(run, cell)), close];
  if (cell.why) parts.push(element("p", {}, `Without figures: ${cell.why}.`));
  parts.push(...cell.flaws.map((flaw) => element("p", { class: "flaw" }, flaw)));
  parts.push(element("div", { class: "pictures" }, ...cellPictures(at)));
  parts.push(figuresTable(at), checksTable(cell), launches(cell));
  panel.replaceChildren(...parts.filter((part) => part !== null));
}

const cellPictures = (at) => [histogram(at, state.site, `Durations of polls of ${run.functions[state.site] ?? state.site}`, "polls"),
  histogram(at, "worker", "Wake-up latency of another task", "wake-ups"), overBlocks(at), children(run.cells[at])].filter((picture) => picture !== null);

const withTitle = (title, ...parts) => element("figure", {}, element("figcaption", {}, title), ...parts);

// The edges that are a fifth of a decade apart. The thresholds of the curve lie between them.
const isFifth = (edge) => Math.abs(5 * Math.log10(edge) - Math.round(5 * Math.log10(edge))) < 0.03;

// Draws the share of durations in each fifth of a decade, on logarithmic axes.
function histogram(at, site, title, what) {
  const first = at * run.variants.length;
  const variants = run.variants.map((_, variant) => variant).filter((variant) => countsOf(run, site, first + variant));
  if (variants.length === 0) return null;
  const edges = run.edges.filter(isFifth);
  // The bin of each bucket, by the bucket's lower edge.
  const bins = [0, ...run.edges].map((from) => edges.filter((edge) => edge <= from).length);
  const shares = variants.map((variant) => {
    const counts = countsOf(run, site, first + variant);
    const all = total(counts);
    const values = new Array(edges.length + 1).fill(0);
    bins.forEach((bin, bucket) => {
      values[bin] += countIn(counts, bucket) / all;
    });
    return values;
  });
  const used = shares.flatMap((values) => values.map((value, bin) => (value > 0 ? bin : -1)).filter((bin) => bin >= 0));
  const [low, high] = [Math.max(0, Math.min(...used) - 1), Math.min(edges.length, Math.max(...used) + 1)];
  const least = Math.floor(Math.log10(Math.min(...shares.flat().filter((share) => share > 0))));
  // The lower edge of a bin. The first and the last bin have one end each, and are drawn as wide as the others.
  const edge = (bin) => edges[bin - 1] ?? (bin < 1 ? edges[0] / 10 ** 0.2 : edges.at(-1) * 10 ** 0.2);
  const [from, to] = [Math.log10(edge(low)), Math.log10(edge(high + 1))];
  const place = {
    x: (ns) => PLOT.left + (PLOT.width - PLOT.left - 22) * (Math.min(to, Math.max(from, Math.log10(ns))) - from) / (to - from),
    y: (value) => 18 + (PLOT.height - PLOT.bottom - 18) * (Math.log10(Math.max(value, 10 ** least)) / least),
  };
  const path = (values) => {
    const steps = [];
    for (let bin = low; bin <= high; bin += 1) {
      const y = place.y(values[bin]).toFixed(1);
      steps.push(`${place.x(edge(bin)).toFixed(1)} ${y} L${place.x(edge(bin + 1)).toFixed(1)} ${y}`);
    }
    return `M${steps.join(" L")}`;
  };
  const lines = variants.map((variant, order) => element("path", { d: path(shares[order]), class: lineClass(variant) },
    element("title", {}, run.variants[variant].label)));
  const x = [];
  for (let power = Math.ceil(from); power <= to; power += 1) x.push([10 ** power, duration(10 ** power)]);
  const y = [];
  for (let power = 0; power >= least; power -= 1) y.push([10 ** power, `${Number((100 * 10 ** power).toPrecision(1))} %`]);
  const limit = place.x(state.threshold);
  const mark = element("line", { x1: limit, x2: limit, y1: 8, y2: PLOT.height - PLOT.bottom, class: "limit" });
  const words = variants.map((variant, order) => `${run.variants[variant].label}: ${whole.format(total(countsOf(run, site, first + variant)))} ${what}, ${percentiles(countsOf(run, site, first + variant))}`);
  return withTitle(title, plot(PLOT, `${title}. ${words.join("; ")}`, { x: "duration", y: `share of ${what}` }, { x, y }, place, mark, ...lines),
    legend(run, variants), element("details", {}, element("summary", {}, "Percentiles, as ranges of the histogram"), ...words.map((line) => element("p", {}, line))));
}

// Says in which bucket of the histogram each percentile is.
function percentiles(counts) {
  const { edges } = run;
  const all = total(counts);
  const name = (edge) => (edge === undefined ? "" : duration(edge));
  const range = (percent) => {
    let bucket = edges.length;
    let above = 0;
    while (bucket > 0 && above + countIn(counts, bucket) <= all * (1 - percent / 100)) {
      above += countIn(counts, bucket);
      bucket -= 1;
    }
    return `p${percent} ${name(edges[bucket - 1])}–${name(edges[bucket])}`;
  };
  return [50, 90, 99, 99.9].filter((percent) => all * (1 - percent / 100) >= 1).map(range).join(", ");
}

// Draws a dot for each block and variant. Bars below show for how much of a block central's worker was kept from its core.
function overBlocks(at) {
  const key = (metric) => `${siteOf(metric, state.site)} ${metric}`;
  const metric = run.byBlock[key(state.metric)] ? state.metric : page.metrics[0].name;
  const all = run.byBlock[key(metric)];
  const first = at * run.variants.length;
  const variants = run.variants.map((_, variant) => variant).filter((variant) => all?.[first + variant]);
  if (variants.length === 0) return null;
  const { words, unit } = metrics.get(metric);
  const dots = variants.map((variant) => all[first + variant].flat());
  const waited = run.cells[at].waited.flat();
  const blocks = dots[0].length;
  const size = { ...PLOT, height: 300, bottom: 84 };
  const values = dots.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(0, ...values), Math.max(...values) || 1];
  const place = {
    x: (block) => size.left + (size.width - size.left - 16) * ((block + 0.5) / blocks),
    y: (value) => size.height - size.bottom - (size.height - size.bottom - 20) * ((value - low) / (high - low)),
  };
  const lines = (variant, block, value) => [run.variants[variant].label, `block ${block + 1}: ${full(value)} ${unit}`];
  const marks = dots.flatMap((values, order) => values.map((value, block) => value === null ? null : element("circle", {
    cx: place.x(block) + 5 * (order - (variants.length - 1) / 2), cy: place.y(value), r: 3.5, class: lineClass(variants[order]),
    ...hovering(() => lines(variants[order], block, value)),
  })));
  const most = Math.max(10, ...waited.map((percent) => percent ?? 0));
  const bars = waited.map((value, block) => value === null ? null : element("rect", {
    x: place.x(block) - 6, width: 12, y: size.height - 24 - 30 * (value / most), height: Math.max(1, 30 * (value / most)), class: "waited",
    ...hovering(() => [`block ${block + 1}`, `kept from its core for ${full(value)} % of the time`]),
  }));
  const step = Math.ceil(blocks / 12);
  const x = Array.from({ length: Math.ceil(blocks / step) }, (_, at) => [at * step, String(at * step + 1)]);
  const lineEnds = run.cells[at].runs > 1 ? `; ${run.cells[at].runs} launches follow each other` : "";
  return withTitle(`${words}${metrics.get(metric).bySite ? ` of ${run.functions[state.site]}` : ""}, block by block${lineEnds}`,
    plot(size, `${words} in each of ${blocks} blocks`, { x: "block; bars: share of its time that central's worker was kept from its core", y: unit },
      { x, y: roundTicks(low, high) }, place, text(size.left - 4, size.height - 44, `${short(most)} %`, { "text-anchor": "end", class: "axis" }), ...bars, ...marks), legend(run, variants));
}

function children(cell) {
  const rows = (cell.children[state.site] ?? []).map(([child, all, slow]) => [child, percentBar(all), slow === null ? "–" : percentBar(slow)]);
  if (rows.length === 0) return null;
  return withTitle("Where the time of polls goes, without a budget",
    element("div", { class: "wide" }, tableOf("", ["child", "of all polls", "of slow polls"], rows)));
}

const percentBar = (percent) => element("span", { class: "bar", style: `--share: ${Math.max(0, percent)}%` }, `${full(percent)} %`);

// The table has every figure of the chosen function and of the worker at the report's threshold.
function figuresTable(at) {
  const known = page.metrics.filter((metric) => figuresOf(run, metric.name, state.site)?.value);
  if (known.length === 0) return null;
  const rows = known.map((metric) => [`${metric.words}, ${metric.unit}`, ...run.variants.map((_, variant) => {
    const value = level(run, metric.name, state.site, at, variant, run.threshold);
    const changed = variant > 0 && change(run, metric.name, state.site, at, variant, run.threshold);
    if (!value) return "–";
    const line = changed && element("div", { class: changed.resolved === "n" ? "faint" : "resolved" }, `${signed(changed.value)}${interval(changed, signed)}`);
    return element("div", {}, `${full(value.value)}${interval(value)}`, line || null);
  })]);
  const caption = `Figures at ${duration(run.threshold)}; second line: the change, bold if resolved`;
  return element("div", { class: "wide" }, tableOf(caption, ["", ...run.variants.map((variant) => variant.label)], rows));
}

function checksTable(cell) {
  const rows = cell.checks.map(([check, value, isBeyond]) => [page.checks[check][0].replaceAll("`", ""), isBeyond ? element("b", {}, value) : value, page.checks[check][1] ?? "–"]);
  if (cell.connects) rows.unshift([`round trips of TCP connects before the measurement, where ${cell.rtt} ms were asked for`, `${full(cell.connects[0])} to ${full(cell.connects[2])} ms, median ${full(cell.connects[1])} ms`, "–"]);
  return rows.length === 0 ? null : element("div", { class: "wide" },
    tableOf("Checks of the network and the machine; bold: beyond the limit", ["check", "value", "limit"], rows));
}

// Lists the launches of the cell and the files that explain it.
function launches(cell) {
  const aside = cell.aside > 0 ? `, ${cell.aside} more set aside because the machine disturbed them` : "";
  const lines = [`${cell.blocks} complete blocks${aside}. The files are in cells/${cell.id}/.`, ...cell.launches];
  // Each flame graph has a frame, so that two can be side by side.
  const frames = element("div", { class: "frames" });
  const link = (name) => {
    const [title, href] = [name.slice(cell.id.length + 1), `explain/${encodeURIComponent(name)}`];
    const to = element("a", { href, target: "_blank", rel: "noopener" }, title);
    if (!name.endsWith(".svg")) return element("li", {}, to);
    const frame = element("iframe", { title, hidden: true });
    frames.append(frame);
    return element("li", {}, to, element("button", { type: "button", onclick: () => {
      frame.src = href;
      frame.hidden = !frame.hidden;
    } }, "Show or hide here"));
  };
  const files = cell.files.length === 0 ? [] : [element("h4", {}, "Why it is slow"), element("ul", {}, ...cell.files.map(link)), frames];
  return element("div", {}, element("h4", {}, "Launches"), ...lines.map((line) => element("p", {}, line)), ...files);
}
