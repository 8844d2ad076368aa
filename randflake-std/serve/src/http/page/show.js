// Pieces of the page. Text from the server is only ever set as text.

export const $ = (id) => document.getElementById(id);

const UNSEEN = /(?! )[\p{C}\p{Z}\p{Grapheme_Extend}\p{Default_Ignorable_Code_Point}]/gu;

/** Escapes characters that are not seen or turn the direction of writing, as the command line does: names are others' text. */
const visible = (text) => text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);

/** An element: `el("td", { class: "number" }, "text", child)`. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, visible(value));
  element.append(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

/** A row of a table; on a narrow screen each cell shows the name of its column. */
export function tableRow(names, cells, attributes = {}) {
  cells.forEach((cell, index) => cell.setAttribute("data-column", names[index]));
  return el("tr", attributes, ...cells);
}

export const state = (kind, text) => el("span", { class: `state ${kind}` }, text);

/** Replaces an element's text, unless it has it: a screen reader speaks what changes. */
export function say(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

const numbers = new Intl.NumberFormat("en");
export const count = (number) => numbers.format(number);

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** Dates end in the year 275760; layouts may go on. */
export function time(unixMs) {
  const date = new Date(unixMs);
  if (Number.isNaN(date.getTime())) return "after the year 275760";
  return date.toISOString().replace(/^\+0*/, "").replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${count(Math.round(hours / 24))} days`;
}
