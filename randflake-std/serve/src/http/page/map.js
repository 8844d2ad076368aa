// The map of node ids: a cell for each, or for as many as fit, with the worst state of them. The arrow keys move a cursor,
// and a screen reader hears the cell that it is on, as of a slider.

import { $, count, el, plural, say } from "./show.js";

const KINDS = { ".": "free", h: "held", e: "ending", c: "contested" };
const TEXTS = {
  free: "free", quarantine: "in quarantine", held: "leased", ending: "about to expire", contested: "contested by a copy",
};

const map = $("map");
const canvas = map.querySelector("canvas");
const colours = matchMedia("(prefers-color-scheme: dark)");
let shown = { cells: "", perCell: 1, total: 0, waits: false };
let cursor = 0;
let choose = () => {};

const columns = () => Math.min(64, Math.max(1, Math.ceil(Math.sqrt(shown.cells.length * 2))));

function nodes(cell) {
  const first = cell * shown.perCell;
  return [first, Math.min(first + shown.perCell, shown.total) - 1];
}

/** What is free is granted to nobody during a quarantine. */
const kindOf = (letter) => (shown.waits && letter === "." ? "quarantine" : KINDS[letter]);

function tell() {
  const [first, last] = nodes(cursor);
  const letter = shown.cells[cursor];
  const kind = TEXTS[kindOf(letter)];
  const which = first === last ? `Node id ${count(first)}` : `Node ids ${count(first)} to ${count(last)}`;
  const text = letter === "." || first === last ? `${which}: ${kind}` : `${which}: some ${kind}`;
  map.setAttribute("aria-valuenow", cursor);
  map.setAttribute("aria-valuetext", text);
  say($("map-cell"), text);
}

function draw() {
  const width = columns();
  const rows = Math.ceil(shown.cells.length / width);
  const size = 12;
  const style = getComputedStyle(map);
  const colourOf = (letter) => style.getPropertyValue(`--${kindOf(letter)}`);
  const colour = Object.fromEntries(Object.keys(KINDS).map((letter) => [letter, colourOf(letter)]));
  canvas.width = width * size;
  canvas.height = rows * size;
  // A few cells are not blown up over the whole column.
  canvas.style.maxWidth = `${width * 20}px`;
  const context = canvas.getContext("2d");
  for (let cell = 0; cell < shown.cells.length; cell++) {
    context.fillStyle = colour[shown.cells[cell]];
    context.fillRect((cell % width) * size, Math.floor(cell / width) * size, size - 1, size - 1);
  }
  if (shown.cells.length > 1) {
    context.strokeStyle = style.getPropertyValue("--ink");
    context.lineWidth = 2;
    context.strokeRect((cursor % width) * size, Math.floor(cursor / width) * size, size - 1, size - 1);
  }
}

function move(to) {
  cursor = Math.min(Math.max(to, 0), Math.max(shown.cells.length - 1, 0));
  draw();
  tell();
}

export function showMap(namespace, onChoose) {
  const { nodes_per_cell: perCell, cells } = namespace.map;
  const isOther = shown.total !== namespace.node_ids || shown.cells.length !== cells.length;
  shown = { cells, perCell, total: namespace.node_ids, waits: Boolean(namespace.quarantine) };
  choose = onChoose;
  map.setAttribute("aria-valuemax", Math.max(cells.length - 1, 0));
  move(isOther ? 0 : cursor);
  const { held, ending, contested } = namespace.leases;
  const free = namespace.node_ids - held - ending - contested;
  const entries = [[kindOf("."), free], ...Object.entries({ held, ending, contested })];
  $("legend").replaceChildren(...entries.map(([kind, number]) =>
    el("li", {}, el("i", { class: kind }), `${count(number)} ${TEXTS[kind]}`)));
  say($("map-title"), perCell === 1 ? "Node ids" : `Node ids, ${plural(perCell, "id")} a cell`);
}

map.addEventListener("keydown", (event) => {
  const width = columns();
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width, PageUp: -8 * width, PageDown: 8 * width };
  if (event.key in steps) move(cursor + steps[event.key]);
  else if (event.key === "Home") move(0);
  else if (event.key === "End") move(shown.cells.length - 1);
  else if (event.key === "Enter") choose(nodes(cursor)[0]);
  else return;
  event.preventDefault();
});

map.addEventListener("click", (event) => {
  const box = canvas.getBoundingClientRect();
  const width = columns();
  const scale = width / box.width;
  const column = Math.floor((event.clientX - box.left) * scale);
  const cell = Math.floor((event.clientY - box.top) * scale) * width + column;
  if (column < 0 || column >= width || cell < 0 || cell >= shown.cells.length) return;
  move(cell);
  choose(nodes(cell)[0]);
});

colours.addEventListener("change", draw);
