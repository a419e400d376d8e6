// Elements, colours and axes.
const byId = (id) => document.getElementById(id);

// Text from the data becomes text, never markup.
function element(name, attributes = {}, ...parts) {
  const isSvg = ["svg", "g", "rect", "text", "line", "path", "circle", "title"].includes(name);
  const made = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...parts.filter((part) => part !== null && part !== undefined));
  return made;
}

const svg = (width, height, label, ...parts) =>
  element("svg", { viewBox: `0 0 ${width} ${height}`, style: `--width: ${width}px`, role: "group", "aria-label": label }, ...parts);

const text = (x, y, words, attributes = {}) => element("text", { x, y, ...attributes }, words);

function tableOf(caption, head, rows) {
  const row = (tag, fields) => element("tr", {}, ...fields.map((field) => element(tag, {}, field)));
  return element("table", {}, element("caption", {}, caption), element("thead", {}, row("th", head)),
    element("tbody", {}, ...rows.map((fields) => row("td", fields))));
}

// The shades are those of the report's pictures. Each is a colour, the ink on it, and its upper end as a part of the
// greatest value.
const shadeOf = (shades, value, most) => shades.find(([, , end]) => value / (most || 1) < end) ?? shades.at(-1);
const levelShade = (value, most) => shadeOf(page.colours.level, value, most);
const changeShade = (value, most, better) => shadeOf(page.colours.change, better > 0 ? value : -value, most);

const LINES = 8;
const lineClass = (variant) => `line line-${variant % LINES}`;

// A legend of variants, whose lines and dots have the same colours.
function legend(runData, variants) {
  const item = (variant) => element("span", { class: "key" },
    element("span", { class: `swatch ${lineClass(variant)}` }), runData.variants[variant].label);
  return element("p", { class: "legend" }, ...variants.map(item));
}

// The usual width of a picture with axes. In a narrow window it is less, since letters shrink with the picture.
const widthOf = (usual) => Math.min(usual, Math.max(330, window.innerWidth - 60));

// A picture with axes. `place` has the functions that turn values into pixels. Ticks are pairs of a value and its words.
function plot(size, label, names, ticks, place, ...marks) {
  const { width, height, left, bottom } = size;
  const parts = [];
  for (const [value, words] of ticks.x) {
    const x = place.x(value);
    parts.push(element("line", { x1: x, x2: x, y1: 8, y2: height - bottom, class: "rule" }),
      text(x, height - bottom + 14, words, { "text-anchor": "middle" }));
  }
  for (const [value, words] of ticks.y) {
    const y = place.y(value);
    parts.push(element("line", { x1: left, x2: width - 8, y1: y, y2: y, class: "rule" }),
      text(left - 4, y + 4, words, { "text-anchor": "end" }));
  }
  parts.push(text(width - 8, height - 4, names.x, { "text-anchor": "end", class: "axis" }), text(4, 10, names.y, { class: "axis" }));
  return svg(width, height, label, ...parts, ...marks);
}

// About five round values from `low` to `high`.
function roundTicks(low, high) {
  const raw = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high + step / 1e6; at += 1) {
    const value = rounded(at * step);
    const decimals = Math.max(0, -Math.floor(Math.log10(step)));
    ticks.push([value, Math.abs(value) < 9995 ? value.toFixed(decimals).replace("-", "−") : short(value)]);
  }
  return ticks;
}

function showHover(lines, near) {
  const hover = byId("hover");
  hover.replaceChildren(...lines.map((line, at) => element(at === 0 ? "b" : "span", {}, line)));
  hover.hidden = false;
  const box = near.getBoundingClientRect();
  const { width, height } = hover.getBoundingClientRect();
  const left = Math.max(4, Math.min(box.left, document.documentElement.clientWidth - width - 4));
  const top = box.bottom + 6 + height > window.innerHeight ? box.top - height - 6 : box.bottom + 6;
  hover.style.left = `${left}px`;
  hover.style.top = `${Math.max(4, top)}px`;
}

const hideHover = () => {
  byId("hover").hidden = true;
};

// The listeners that show these lines while the pointer or the keyboard is on an element.
const hovering = (lines) => ({
  onmouseenter: (event) => showHover(lines(), event.currentTarget),
  onfocus: (event) => showHover(lines(), event.currentTarget),
  onmouseleave: hideHover,
  onblur: hideHover,
});
