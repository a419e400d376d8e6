// The time beyond every threshold, on logarithmic axes, with a line at the slider's threshold.
const CURVE = { width: widthOf(620), height: 220, left: 58, bottom: 34 };

// The chosen candidate. If none is chosen, it is the best one, or else the first whose budget ended a poll.
function candidateShown() {
  const { candidates, leading } = run.verdict;
  const wanted = state.variant > 0 ? state.variant : leading;
  return candidates.find((candidate) => candidate.variant === wanted) ?? candidates.find((candidate) => !candidate.neverFired);
}

function drawCurve() {
  const candidate = candidateShown();
  const lines = [[0, run.verdict.curve], [candidate?.variant, candidate?.curve ?? []]];
  const points = lines.flatMap(([, curve]) => curve);
  if (points.length === 0) {
    byId("curve").replaceChildren();
    return;
  }
  const greatest = Math.max(...points.map(([, level]) => level));
  const isSeen = ([, level]) => level >= greatest / 100;
  const seen = points.filter(isSeen).map(([threshold]) => threshold);
  const [from, to] = [Math.min(...seen), Math.max(...seen, state.threshold)].map(Math.log10);
  const place = {
    x: (ns) => CURVE.left + ((CURVE.width - CURVE.left - 22) * (Math.log10(ns) - from)) / (to - from || 1),
    y: (level) => 18 + ((CURVE.height - CURVE.bottom - 18) * Math.log10(greatest / level)) / 2,
  };
  const path = (curve) => curve.filter(isSeen).map(([ns, level]) => `${place.x(ns).toFixed(1)} ${place.y(level).toFixed(1)}`).join(" L");
  const seenLines = lines.filter(([variant, curve]) => variant !== undefined && curve.some(isSeen));
  const paths = seenLines.map(([variant, curve]) => element("path", { d: `M${path(curve)}`, class: lineClass(variant) }));
  const logTicks = (low, high) => {
    const decades = Array.from({ length: 2 + Math.floor(Math.log10(high / low)) }, (_, at) => 10 ** (Math.floor(Math.log10(low)) + at));
    return decades.flatMap((decade) => [decade, 2 * decade, 5 * decade]).filter((tick) => tick >= 0.98 * low && tick <= 1.02 * high);
  };
  const ticks = {
    x: logTicks(10 ** from, 10 ** to).map((ns) => [ns, duration(ns)]),
    y: logTicks(greatest / 100, greatest).map((level) => [level, short(rounded(level))]),
  };
  const x = place.x(state.threshold);
  const mark = element("line", { x1: x, x2: x, y1: 8, y2: CURVE.height - CURVE.bottom, class: "limit" });
  const names = { x: "threshold", y: "ms per s, mean over cells" };
  const picture = plot(CURVE, "Time beyond the threshold, by the threshold", names, ticks, place, ...paths, mark);
  byId("curve").replaceChildren(withTitle("Time beyond the threshold, by the threshold", picture, legend(run, seenLines.map(([variant]) => variant))));
}
