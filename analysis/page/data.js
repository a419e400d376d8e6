// The data of the page, and what follows from them.
const page = JSON.parse(document.getElementById("data").textContent);
const metrics = new Map(page.metrics.map((metric) => [metric.name, metric]));

// The four digits of the tables.
function rounded(value) {
  if (value === 0 || !Number.isFinite(value)) return value;
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const shift = 10 ** Math.abs(3 - magnitude);
  return magnitude < 4 ? Math.round(value * shift) / shift : Math.round(value / shift) * shift;
}

// As tables have it, with a proper minus sign; "?" for an end that the data do not bound.
const full = (value) => (value === null || value === undefined ? "?" : String(value).replace("-", "−"));
const whole = new Intl.NumberFormat("en");
const signed = (value) => (value > 0 ? "+" : "") + full(value);

// For the narrow space of a cell: three digits, or two below 0.1, as the report's pictures have them.
function short(value) {
  const size = Math.abs(value);
  const [divisor, letter] = size >= 999.5e6 ? [1e9, "G"] : size >= 999500 ? [1e6, "M"] : size >= 10000 ? [1e3, "k"] : [1, ""];
  return digits(rounded(value) / divisor, size < 0.1 ? 2 : 3) + letter;
}

// The ends of an interval have two digits where that is enough.
const brief = (value) => (Math.abs(rounded(value)) < 99.5 ? digits(rounded(value), 2) : short(value));

// So many significant ones, but all of a whole number and at most six decimals.
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

// "±1.1" if both sides are alike, else "11–14"; "?" for an end that the data do not bound.
function briefInterval(value, low, high) {
  const between = low < 0 ? ".." : "–";
  if (high === null) return `${brief(low)}${between}?`;
  const half = (high - low) / 2;
  if (Math.abs(high + low - 2 * value) <= 0.2 * half) return `±${brief(half)}`;
  const digits = brief(low) === brief(high) ? short : brief;
  return `${digits(low)}${between}${digits(high)}`;
}

function duration(ns) {
  const [divisor, unit] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return `${Number((ns / divisor).toPrecision(4))} ${unit}`;
}

const cellName = (run, cell) =>
  `${cell.n} peer${cell.n === 1 ? "" : "s"}, RTT ${cell.rtt} ms, ${run.payload[cell.payload]}`;

const siteOf = (metric, site) => (metrics.get(metric)?.bySite ? site : "worker");
const figuresOf = (run, metric, site) => run.figures[`${siteOf(metric, site)} ${metric}`];
// Counts above the threshold can be made from the counts of durations.
const isRecounted = (run, metric) =>
  metrics.get(metric)?.recounted && Object.values(run.durations).some((counts) => counts !== null);

// The counts of durations between edges, after the number of empty ones before them.
function countsOf(run, site, at) {
  const all = run.durations[site];
  return all ? all[at] : null;
}

// Sums of counts from each one to the last, which are made once.
const tails = new WeakMap();

function above(counts, stop) {
  let tail = tails.get(counts);
  if (!tail) {
    tail = new Float64Array(counts.length + 1);
    for (let at = counts.length - 1; at > 0; at -= 1) tail[at] = tail[at + 1] + counts[at];
    tails.set(counts, tail);
  }
  return tail[Math.min(counts.length, Math.max(1, stop + 2 - counts[0]))];
}

const total = (counts) => above(counts, -1);

// Slow events and all events, or all requests. The counts of the baseline include those of its A/A control; `less` is
// the control where the baseline alone is wanted.
function events(run, metric, site, at, stop, less) {
  const counts = countsOf(run, siteOf(metric, site), at);
  const perRequest = metrics.get(metric).recounted === "request";
  if (!counts || (perRequest && !run.requests)) return null;
  const all = perRequest ? run.requests[at] : total(counts);
  const own = [above(counts, stop), all];
  if (less === undefined) return own;
  const other = events(run, metric, site, less, stop);
  return other && [own[0] - other[0], own[1] - other[1]];
}

function ratio(metric, parts) {
  if (!parts || !parts[1]) return null;
  return rounded(metrics.get(metric).scale * (parts[0] / parts[1]));
}

// By how much durations exceed a stop in all, as if those between two edges were in their middle.
function timeBeyond(run, counts, stop) {
  let sum = 0;
  for (let at = Math.max(1, stop + 2 - counts[0]); at < counts.length; at += 1) {
    const from = run.edges[counts[0] + at - 2];
    const to = run.edges[counts[0] + at - 1] ?? 1.6 * from;
    sum += counts[at] * (Math.sqrt(from * to) - run.edges[stop]);
  }
  return sum;
}

// The report's value, in proportion to the time beyond the stop instead of its own threshold.
function scaled(run, metric, site, at, stop) {
  const value = figuresOf(run, metric, site)?.value[at] ?? null;
  const counts = countsOf(run, site, at);
  if (value === null || !counts) return null;
  const own = timeBeyond(run, counts, run.edges.indexOf(run.threshold));
  return own > 0 ? rounded((value * timeBeyond(run, counts, stop)) / own) : null;
}

function recounted(run, metric, site, at, stop, less) {
  if (metrics.get(metric).recounted === "time") return scaled(run, metric, site, at, stop);
  return ratio(metric, events(run, metric, site, at, stop, less));
}

// The value of a variant in a cell at a stop of the threshold, with its interval where the report made one.
function level(run, metric, site, cell, variant, stop) {
  const figures = figuresOf(run, metric, site);
  const at = cell * run.variants.length + variant;
  const isOwn = run.edges[stop] === run.threshold;
  const isOwnTime = isOwn && metrics.get(metric).recounted === "time";
  if (isRecounted(run, metric) && !isOwnTime) {
    const value = recounted(run, metric, site, at, stop);
    if (value === null) return null;
    return isOwn && figures ? { value, low: figures.low?.[at] ?? null, high: figures.high?.[at] ?? null } : { value };
  }
  const value = figures?.value[at] ?? null;
  return value === null ? null : { value, low: figures.low?.[at] ?? null, high: figures.high?.[at] ?? null };
}

// The difference from the baseline; `resolved` is null where no interval was made.
function change(run, metric, site, cell, variant, stop) {
  const first = cell * run.variants.length;
  const at = first + variant;
  if (isRecounted(run, metric) && run.edges[stop] !== run.threshold) {
    const isControl = run.variants[variant].role === "control";
    const from = recounted(run, metric, site, first, stop, isControl ? at : undefined);
    const to = recounted(run, metric, site, at, stop);
    return from === null || to === null ? null : { value: rounded(to - from), resolved: null };
  }
  const figures = figuresOf(run, metric, site);
  const value = figures?.change?.[at] ?? null;
  if (value === null) return null;
  const [low, high] = [figures.changeLow?.[at] ?? null, figures.changeHigh?.[at] ?? null];
  return { value, low, high, resolved: figures.resolved[at] };
}

// What a value or a change is made of, in words.
function made(run, metric, site, cell, variant) {
  const { blocks, runs } = run.cells[cell];
  const counts = countsOf(run, siteOf(metric, site), cell * run.variants.length + variant);
  const { counted } = metrics.get(metric);
  const n = counts && counted ? `n = ${whole.format(total(counts))} ${counted}, ` : "";
  return `${n}${blocks} block${blocks === 1 ? "" : "s"} of ${runs} launch${runs === 1 ? "" : "es"}`;
}

const interval = (shown, text = full) =>
  shown.low === undefined || shown.low === null ? "" : ` [${text(shown.low)}, ${shown.high === null ? "?" : text(shown.high)}]`;
