// The map of gains and costs: a point for each variant.
function drawTradeOff() {
  const { quantities, candidates } = run.verdict;
  const box = byId("trade-off");
  byId("gains").hidden = candidates.every((candidate) => Object.keys(candidate.changes).length === 0);
  const [across, up] = [state.across, state.up].map((name) => quantities.find((quantity) => quantity.metric === name));
  const points = candidates.filter((candidate) => !candidate.idle && candidate.changes[across?.metric] && candidate.changes[up?.metric])
    .map((candidate) => ({ ...candidate, x: candidate.changes[across.metric], y: candidate.changes[up.metric], ...run.variants[candidate.variant] }));
  if (points.length === 0) return box.replaceChildren(element("p", {}, "No variant that ended a poll has both figures."));
  // Ends that are not bounded are drawn at the edge.
  const extent = (values) => {
    const known = [0, ...values.flat().filter((value) => value !== null && Math.abs(value) < 1e4)];
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return [low - 0.06 * (high - low || 1), high + 0.06 * (high - low || 1)];
  };
  const [xs, ys] = [extent(points.map((point) => point.x)), extent(points.map((point) => point.y))];
  const size = { width: widthOf(760), height: 440, left: 52, bottom: 36 };
  const clamp = (value, [low, high]) => Math.max(low, Math.min(high, value));
  const place = {
    x: (value) => size.left + (size.width - size.left - 12) * ((clamp(value, xs) - xs[0]) / (xs[1] - xs[0])),
    y: (value) => size.height - size.bottom - (size.height - size.bottom - 16) * ((clamp(value, ys) - ys[0]) / (ys[1] - ys[0])),
  };
  const good = (change, quantity) => (quantity.lowerIsBetter ? -change[0] : change[0]);
  const beats = (a, b) => good(a.x, across) >= good(b.x, across) && good(a.y, up) >= good(b.y, up)
    && (good(a.x, across) > good(b.x, across) || good(a.y, up) > good(b.y, up));
  const rivals = points.filter((point) => point.role === "candidate");
  const words = (point) => [point.label, `${across.words}: ${signed(point.x[0])}${interval({ low: point.x[1], high: point.x[2] }, signed)} ${across.unit}`,
    `${up.words}: ${signed(point.y[0])}${interval({ low: point.y[1], high: point.y[2] }, signed)} ${up.unit}`];
  const isCrowded = points.length > 12;
  // Where the letters of a label may stand without others below them.
  const taken = [];
  const free = (x, y, width) => {
    const isFree = (at) => taken.every((label) => Math.abs(label.y - at) >= 13 || label.x + label.width < x || x + width < label.x);
    const found = [-7, 18, -21, 32, -35, 46].map((by) => y + by).find(isFree) ?? y - 7;
    taken.push({ x, y: found, width });
    return found;
  };
  const mark = (point) => {
    const [x, y] = [place.x(point.x[0]), place.y(point.y[0])];
    const isBest = point.role === "candidate" && !rivals.some((other) => beats(other, point));
    const line = (x1, x2, y1, y2) => element("line", { x1, x2, y1, y2, class: "error" });
    const isLeft = x > size.width / 2;
    const width = 7 * point.label.length;
    const above = isCrowded && !isBest ? 0 : free(isLeft ? x - 12 - width : x + 12, y, width);
    return element("g", { class: `point ${lineClass(point.variant)}`, role: "button", tabindex: 0, "aria-label": words(point).join("; "), ...hovering(() => words(point)),
      onclick: () => setState({ variant: point.variant, view: "difference", metric: up.metric }),
      onkeydown: (event) => event.key === "Enter" && setState({ variant: point.variant, view: "difference", metric: up.metric }) },
      isCrowded ? null : line(place.x(point.x[1] ?? xs[0]), place.x(point.x[2] ?? xs[1]), y, y),
      isCrowded ? null : line(x, x, place.y(point.y[1] ?? ys[0]), place.y(point.y[2] ?? ys[1])),
      element("circle", { cx: x, cy: y, r: 5, class: "dot" }), isBest ? element("circle", { cx: x, cy: y, r: 9, class: "ring" }) : null,
      isCrowded && !isBest ? null : text(x + (isLeft ? -12 : 12), above, point.label, { "text-anchor": isLeft ? "end" : "start" }));
  };
  const zero = [element("line", { x1: place.x(0), x2: place.x(0), y1: 8, y2: size.height - size.bottom, class: "zero" }),
    element("line", { x1: size.left, x2: size.width - 8, y1: place.y(0), y2: place.y(0), class: "zero" })];
  const side = (quantity, less, more) => (quantity.lowerIsBetter ? less : more);
  const name = (quantity, direction) => `change of ${quantity.words}, ${quantity.unit} (better: ${direction})`;
  box.replaceChildren(plot(size, "Gain and cost of each variant",
    { x: name(across, side(across, "left", "right")), y: name(up, side(up, "down", "up")) },
    { x: roundTicks(...xs), y: roundTicks(...ys) }, place, ...zero, ...points.map(mark)));
}
