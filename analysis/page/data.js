// The data of the page, and the numbers and words that follow from them.
const page = JSON.parse(document.getElementById("data").textContent);
const metrics = new Map(page.metrics.map((metric) => [metric.name, metric]));

// Rounds to four digits, as the tables do.
function rounded(value) {
  if (value === 0 || !Number.isFinite(value)) return value;
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const shift = 10 ** Math.abs(3 - magnitude);
  return magnitude < 4 ? Math.round(value * shift) / shift : Math.round(value / shift) * shift;
}

// Writes a number as tables do, with a proper minus sign. An end that the data do not bound is "?".
const full = (value) => (value === null || value === undefined ? "?" : String(value).replace("-", "−"));
const whole = new Intl.NumberFormat("en");
const signed = (value) => (value > 0 ? "+" : "") + full(value);

// A cell has room for three digits, or two below 0.1. The report's pictures have the same digits.
function short(value) {
  const size = Math.abs(value);
  const [divisor, letter] = size >= 999.5e6 ? [1e9, "G"] : size >= 999500 ? [1e6, "M"] : size >= 10000 ? [1e3, "k"] : [1, ""];
  return digits(rounded(value) / divisor, size < 0.1 ? 2 : 3) + letter;
}

// The ends of an interval have two digits where that is enough.
const brief = (value) => (Math.abs(rounded(value)) < 99.5 ? digits(rounded(value), 2) : short(value));

// `count` significant digits; whole numbers keep all theirs; at most six decimals.
function digits(value, count) {
  const few = Number(value.toPrecision(count));
  return full(Math.abs(few) >= 10 ** count ? Math.round(value) : Number(few.toFixed(6)));
}

// A value has no more digits than two of half its interval.
function noFiner({ value, low, high }) {
  if (low === undefined || low === null || high === null || high <= low) return value;
  const step = 10 ** (Math.floor(Math.log10((high - low) / 2)) - 1);
  return Math.sign(value) * Math.round(Math.abs(value) / step) * step;
}

// Returns "±1.1" if both sides are alike, else "11–14". An end that the data do not bound is "?".
function briefInterval(value, low, high) {
  const between = low < 0 ? ".." : "–";
  if (high === null) return `${brief(low)}${between}?`;
  const half = (high - low) / 2;
  if (Math.abs(high + low - 2 * value) <= 0.2 * half) return `±${brief(half)}`;
  const write = brief(low) === brief(high) ? short : brief;
  return `${write(low)}${between}${write(high)}`;
}

function duration(ns) {
  const [divisor, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return `${Number((ns / divisor).toPrecision(4))} ${unit}`;
}

const cellName = (runData, cell) =>
  `${cell.n} peer${cell.n === 1 ? "" : "s"}, RTT ${cell.rtt} ms, ${runData.payload[cell.payload]}`;

const siteOf = (metric, site) => (metrics.get(metric)?.bySite ? site : "worker");
// The map moves with the threshold slider only while it shows this metric of the function that the verdict is about.
const BEYOND = "beyond_ms_per_s";
const followsSlider = (runData, metric, site) => metric === BEYOND && site === runData.site && runData.thresholds.length > 1;

// The figures of a metric as the report has them, or at another threshold of the slider.
function figuresOf(runData, metric, site, threshold = runData.threshold) {
  const moved = followsSlider(runData, metric, site) ? runData.beyond[threshold] : undefined;
  return moved ?? runData.figures[`${siteOf(metric, site)} ${metric}`];
}

// The counts of durations between edges, or null if none were recorded. The first number says how many empty buckets come before the others.
function countsOf(runData, site, at) {
  const all = runData.durations[site];
  return all ? all[at] : null;
}

const countIn = (counts, bucket) => (bucket < counts[0] ? 0 : counts[bucket + 1 - counts[0]] ?? 0);
const total = (counts) => counts.slice(1).reduce((sum, count) => sum + count, 0);

// The value of a variant in a cell, with its interval.
function level(runData, metric, site, cell, variant, threshold) {
  const figures = figuresOf(runData, metric, site, threshold);
  const at = cell * runData.variants.length + variant;
  const value = figures?.value[at] ?? null;
  return value === null ? null : { value, low: figures.low?.[at] ?? null, high: figures.high?.[at] ?? null };
}

// The difference from the baseline, with its interval. `resolved` is a letter: "l" for lower, "h" for higher, "n" for not.
function change(runData, metric, site, cell, variant, threshold) {
  const figures = figuresOf(runData, metric, site, threshold);
  const at = cell * runData.variants.length + variant;
  const value = figures?.change?.[at] ?? null;
  if (value === null) return null;
  const [low, high] = [figures.changeLow?.[at] ?? null, figures.changeHigh?.[at] ?? null];
  return { value, low, high, resolved: figures.resolved[at] };
}

// Says from how many durations, blocks and launches a value comes.
function made(runData, metric, site, cell, variant) {
  const { blocks, runs } = runData.cells[cell];
  const counts = countsOf(runData, siteOf(metric, site), cell * runData.variants.length + variant);
  const { counted } = metrics.get(metric);
  const n = counts && counted ? `n = ${whole.format(total(counts))} ${counted}, ` : "";
  return `${n}${blocks} block${blocks === 1 ? "" : "s"} of ${runs} launch${runs === 1 ? "" : "es"}`;
}

const interval = (shown, text = full) =>
  shown.low === undefined || shown.low === null ? "" : ` [${text(shown.low)}, ${shown.high === null ? "?" : text(shown.high)}]`;
