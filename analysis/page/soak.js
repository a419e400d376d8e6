// The series of a soak over time. The pointer or the arrow keys show a row.
function seriesPicture(series) {
  const size = { width: widthOf(660), height: 250, left: 62, bottom: 34 };
  const { times, values, trend } = series;
  const known = [...values.filter((value) => value !== null), ...(trend ?? []).map(([, value]) => value)];
  const room = 0.05 * (Math.max(...known) - Math.min(...known) || Math.abs(known[0]) || 1);
  const [low, high] = [Math.min(...known) - room, Math.max(...known) + room];
  const [last, width] = [times.at(-1), size.width - size.left - 16];
  const place = {
    x: (time) => size.left + width * (time / last),
    y: (value) => size.height - size.bottom - (size.height - size.bottom - 18) * ((value - low) / (high - low)),
  };
  const point = (at) => `${place.x(times[at]).toFixed(1)} ${place.y(values[at]).toFixed(1)}`;
  // A value that was not measured leaves a gap.
  const path = values.map((value, at) => (value === null ? "" : `${at > 0 && values[at - 1] !== null ? "L" : "M"}${point(at)}`)).join("");
  const line = (from, to, name) => element("line", { x1: place.x(from[0]), x2: place.x(to[0]), y1: place.y(from[1]), y2: place.y(to[1]), class: name });
  const dot = element("circle", { r: 4, class: "line line-2", visibility: "hidden" });
  const picture = plot(size, `${series.words}: ${series.inShort}`, { x: `time since all peers were connected, ${series.timeUnit}`, y: series.unit },
    { x: roundTicks(0, last), y: roundTicks(low, high) }, place,
    element("rect", { x: size.left, y: 18, width: width * Math.min(1, series.warmUp / last), height: size.height - size.bottom - 18, class: "warm-up" }),
    element("path", { d: path, class: "line line-2 series" }), trend ? line(...trend, "limit") : null, dot);
  let chosen = -1;
  const show = (at) => {
    if (at < 0 || at >= times.length) return;
    chosen = at;
    const value = values[at];
    dot.setAttribute("cx", place.x(times[at]));
    dot.setAttribute("cy", place.y(value ?? low));
    dot.setAttribute("visibility", value === null ? "hidden" : "visible");
    showHover([`${full(times[at])} ${series.timeUnit}${times[at] <= series.warmUp ? ", warm-up" : ""}`,
      value === null ? "not measured" : `${full(value)} ${series.unit}`], dot);
  };
  const hide = () => {
    dot.setAttribute("visibility", "hidden");
    hideHover();
  };
  picture.setAttribute("tabindex", 0);
  picture.setAttribute("class", "soak");
  picture.addEventListener("mousemove", (event) => {
    const box = picture.getBoundingClientRect();
    const time = (((event.clientX - box.left) / box.width) * size.width - size.left) / width * last;
    const after = times.findIndex((other) => other >= time);
    show(after <= 0 ? (after < 0 ? times.length - 1 : 0) : time - times[after - 1] < times[after] - time ? after - 1 : after);
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(chosen < 0 ? (step > 0 ? 0 : times.length - 1) : chosen + step);
  });
  picture.addEventListener("mouseleave", hide);
  picture.addEventListener("blur", hide);
  return withTitle(series.words, element("p", { class: "faint" }, series.inShort), picture);
}
