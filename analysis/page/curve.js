// The time beyond every threshold, on logarithmic axes, with a line at the slider's threshold.
const CURVE = { width: widthOf(620), height: 220, left: 58, bottom: 34 };

// The chosen candidate, or the one that leads where all are shown.
function candidateShown() {
  const { candidates, leading } = run.verdict;
  const wanted = state.variant > 0 ? state.variant : leading;
  return candidates.find((it) => it.variant === wanted) ?? candidates.find((it) => !it.idle);
}

function drawCurve() {
  const candidate = candidateShown();
  const lines = [[0, run.verdict.curve], [candidate?.variant, candidate?.curve ?? []]];
  const points = lines.flatMap(([, curve]) => curve);
  if (points.length === 0 || !isRecounted(run, "beyond_ms_per_s")) {
    byId("curve").replaceChildren();
    byId("at-threshold").textContent = "";
    return;
  }
  sayAtThreshold(candidate);
  const greatest = Math.max(...points.map(([, level]) => level));
  const isSeen = ([, level]) => level >= greatest / 100;
  const seen = points.filter(isSeen).map(([threshold]) => threshold);
  const [from, to] = [Math.min(...seen), Math.max(...seen, run.edges[state.stop])].map(Math.log10);
  const place = {
    x: (ns) => CURVE.left + ((CURVE.width - CURVE.left - 22) * (Math.log10(ns) - from)) / (to - from || 1),
    y: (level) => 18 + ((CURVE.height - CURVE.bottom - 18) * Math.log10(greatest / level)) / 2,
  };
  const path = (curve) => curve.filter(isSeen).map(([ns, level]) => `${place.x(ns).toFixed(1)} ${place.y(level).toFixed(1)}`).join(" L");
  const drawn = lines.filter(([variant, curve]) => variant !== undefined && curve.some(isSeen));
  const paths = drawn.map(([variant, curve]) => element("path", { d: `M${path(curve)}`, class: lineClass(variant) }));
  const decades = [1e3, 1e4, 1e5, 1e6, 1e7].flatMap((ns) => [ns, 2 * ns, 5 * ns]);
  const ticks = {
    x: decades.filter((ns) => Math.log10(ns) >= from - 0.01 && Math.log10(ns) <= to + 0.01).map((ns) => [ns, duration(ns)]),
    y: [greatest, greatest / 10, greatest / 100].map((level) => [level, short(rounded(level))]),
  };
  const x = place.x(run.edges[state.stop]);
  const mark = element("line", { x1: x, x2: x, y1: 8, y2: CURVE.height - CURVE.bottom, class: "limit" });
  const names = { x: "threshold", y: "ms per s, mean over cells" };
  const picture = plot(CURVE, "Time beyond the threshold, by the threshold", names, ticks, place, ...paths, mark);
  byId("curve").replaceChildren(withTitle("Time beyond the threshold, by the threshold", picture, legend(run, drawn.map(([variant]) => variant))));
}

function sayAtThreshold(candidate) {
  const at = run.edges[state.stop];
  const point = (curve) => curve?.find(([threshold]) => threshold === at);
  const [before, after] = [point(run.verdict.curve), point(candidate?.curve)];
  const box = byId("at-threshold");
  if (at === run.threshold || !before || !after) {
    box.textContent = "";
    return;
  }
  const [value, low, high] = after[2] ?? [];
  const change = value === undefined ? "" : ` (${signed(value)} % [${signed(low)}, ${high === null ? "?" : signed(high)}])`;
  box.textContent = `Time beyond ${duration(at)}, all cells: ${full(before[1])} → ${full(after[1])} ms per s${change}.`;
}
