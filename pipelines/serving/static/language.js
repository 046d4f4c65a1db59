// Words in the reader's language. Elements remember their key, so a change needs no reload and loses no answer.
import { keep } from "./choices.js";

const dictionaries = {}; // by language, as they are needed
const TEXTS = "[data-t], [data-t-label], [data-t-placeholder], [data-time]";

export const language = () => (document.documentElement.lang === "es" ? "es" : "en");

async function load(code) {
  dictionaries[code] ??= (await import(`./words.${code}.js`)).default;
}

await load(language());

/** The words of a key. `{name}` takes a value; "one | many" is chosen by the value `n`. */
export function t(key, values = {}) {
  let text = dictionaries[language()][key] ?? key;
  if (text.includes(" | ")) text = text.split(" | ")[Number(values.n) === 1 ? 0 : 1];
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name] ?? "";
    return typeof value === "number" ? number(value) : value;
  });
}

export const number = (value) => value.toLocaleString(language());

/** Give an element its words, for now and for the next language. */
export function mark(element, kind, key, values) {
  element.dataset[kind] = key;
  if (values) element.dataset.values = JSON.stringify(values);
  show(element);
}

/** A <time> that reads as people say it: "3 hours ago", or the day. */
export function when(iso) {
  const element = document.createElement("time");
  element.dateTime = iso;
  element.dataset.time = iso;
  show(element);
  return element;
}

/** Write the words of everything below `root` again. */
export function translate(root = document) {
  for (const element of root.querySelectorAll(TEXTS)) show(element);
}

const MINUTE = 60_000;
setInterval(() => document.querySelectorAll("[data-time]").forEach(show), MINUTE); // "just now" ends

export async function setLanguage(code) {
  await load(code);
  document.documentElement.lang = code;
  keep("language", code);
  translate();
  document.dispatchEvent(new Event("language"));
}

function show(element) {
  const { t: text, tLabel, tPlaceholder, time, values } = element.dataset;
  const filled = values ? JSON.parse(values) : {};
  if (text) element.textContent = t(text, filled);
  if (tLabel) {
    element.setAttribute("aria-label", t(tLabel, filled));
    if (element.matches("button, a")) element.title = t(tLabel, filled);
  }
  if (tPlaceholder) element.placeholder = t(tPlaceholder, filled);
  if (time) {
    element.textContent = ago(new Date(time));
    element.title = new Date(time).toLocaleString(language());
  }
}

function ago(date) {
  const seconds = (Date.now() - date) / 1000;
  const relative = new Intl.RelativeTimeFormat(language(), { numeric: "auto" });
  if (seconds < 45) return t("now");
  if (seconds < 3600) return relative.format(-Math.round(seconds / 60), "minute");
  if (seconds < 86400) return relative.format(-Math.round(seconds / 3600), "hour");
  if (seconds < 7 * 86400) return relative.format(-Math.round(seconds / 86400), "day");
  return date.toLocaleDateString(language(), { year: "numeric", month: "short", day: "numeric" });
}
