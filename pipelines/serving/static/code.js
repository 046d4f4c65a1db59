// Code in colours. The highlighter and each of its grammars are loaded when the first block needs them.
import { h, iconButton, toast } from "./dom.js";
import { t } from "./language.js";
import { sanitised } from "./markdown.js";

const GRAMMARS = {
  bash: "bash", sh: "bash", shell: "bash", zsh: "bash", console: "bash",
  python: "python", py: "python",
  sql: "sql", postgresql: "sql", pgsql: "sql",
  json: "json", jsonc: "json",
  yaml: "yaml", yml: "yaml",
  html: "xml", xml: "xml", svg: "xml",
  javascript: "javascript", js: "javascript", jsx: "javascript",
  typescript: "typescript", ts: "typescript", tsx: "typescript",
  ini: "ini", toml: "ini", conf: "ini",
  dockerfile: "dockerfile", docker: "dockerfile",
  diff: "diff", patch: "diff",
  http: "http", go: "go", java: "java",
};
const LONGEST = 50_000; // characters; colouring more takes longer than it helps
const loaded = new Map();

/** Give a `pre > code` its colours, soon, and a button that copies it. */
export function colour(block) {
  const pre = block.parentElement;
  const box = h("div", { class: "code-box" });
  pre.tabIndex = 0; // long lines scroll by keyboard too
  pre.replaceWith(box);
  box.append(pre, iconButton("copy", "copy", () => copy(block.textContent)));
  const name = /language-([\w+#-]+)/.exec(block.className)?.[1]?.toLowerCase();
  const grammar = GRAMMARS[name];
  if (!grammar || block.textContent.length > LONGEST) return;
  highlighter(grammar).then(
    (library) => {
      const { value } = library.highlight(block.textContent, { language: grammar });
      block.replaceChildren(sanitised(value));
    },
    () => {}, // plain code reads as well
  );
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("copied"));
  } catch {
    toast(t("not_copied"));
  }
}

async function highlighter(grammar) {
  if (!loaded.has(grammar)) {
    loaded.set(
      grammar,
      Promise.all([import("./vendor/highlight/core.min.js"), import(`./vendor/highlight/${grammar}.min.js`)]).then(
        ([{ default: library }, { default: rules }]) => {
          library.registerLanguage(grammar, rules);
          return library;
        },
      ),
    );
  }
  return loaded.get(grammar);
}
