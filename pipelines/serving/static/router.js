// Where the reader is, as the address says: #/VIEW/ARGUMENT?parameters. `doc` and `at` open a document beside any view.

const listeners = [];

export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decode);
  return { view: view || "chat", argument: rest.join("/"), parameters: new URLSearchParams(query) };
}

export function onRoute(listener) {
  listeners.push(listener);
}

/** Go somewhere. With `replace`, going back skips the present place. */
export function go(view, { argument = "", parameters = {}, replace = false } = {}) {
  const query = new URLSearchParams(parameters).toString();
  const path = [view, ...(argument ? [argument] : [])].map(encodeURIComponent).join("/");
  const hash = `#/${path}${query ? `?${query}` : ""}`;
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  changed();
}

/** The same place with other parameters; null takes one out. */
export function goWith(changes, options = {}) {
  const { view, argument, parameters } = route();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) parameters.delete(key);
    else parameters.set(key, value);
  }
  go(view, { argument, parameters, ...options });
}

export function startRouting() {
  window.addEventListener("hashchange", changed);
  window.addEventListener("popstate", changed);
  changed();
}

let last = null;

function changed() {
  if (location.hash === last) return; // one step back is two events
  last = location.hash;
  const here = route();
  for (const listener of listeners) listener(here);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
