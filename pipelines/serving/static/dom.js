// Elements. Nothing here takes markup: text is always text.
import { mark } from "./language.js";

const sprite = new URL("icons.svg", import.meta.url).pathname;
const SVG = "http://www.w3.org/2000/svg";

/** An element. `t`, `label` and `placeholder` are keys of the dictionary, `values` fills them; `on` holds listeners. */
export function h(name, props = {}, ...children) {
  const { class: classes, on = {}, icon: drawing, t, label, placeholder, values, ...attributes } = props;
  const element = document.createElement(name);
  if (classes) element.className = classes;
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  if (drawing) element.append(icon(drawing));
  if (t) {
    const text = children.length || drawing ? document.createElement("span") : element;
    mark(text, "t", t, values);
    if (text !== element) element.append(text);
  }
  if (label) mark(element, "tLabel", label, values);
  if (placeholder) mark(element, "tPlaceholder", placeholder, values);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** One drawing of icons.svg, hidden from screen readers. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${sprite}#${name}`);
  svg.append(use);
  return svg;
}

/** A button that shows a drawing only; its name is read aloud and shown on hover. */
export function iconButton(drawing, label, click, props = {}) {
  return h("button", { type: "button", class: "icon-button", icon: drawing, label, on: { click }, ...props });
}

export const part = (id) => document.getElementById(id);

/** Have screen readers say something. */
export function announce(text) {
  const live = part("live");
  live.textContent = "";
  setTimeout(() => (live.textContent = text), 60); // the same text twice is said twice
}

let toastTimer;

/** Show something for a moment, and say it. */
export function toast(text) {
  const element = part("toast");
  element.textContent = text;
  element.hidden = false;
  announce(text);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (element.hidden = true), 4000);
}

/** A line that tells of a failure, in words for people. */
export function failure(error, retry) {
  return h(
    "div",
    { class: "notice bad", role: "alert", icon: "warning" },
    h("p", {}, error.message),
    retry && h("button", { type: "button", class: "button small", t: "try_again", on: { click: retry } }),
  );
}

/** What a list shows while it is empty. */
export function empty(drawing, t) {
  return h("div", { class: "empty", icon: drawing }, h("p", { t }));
}
