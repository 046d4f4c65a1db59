// Questions that need an answer before going on. The browser's own <dialog> keeps the focus inside and gives it back.
import { h } from "./dom.js";

/** The token and whether to keep it, or null if the reader will not say. */
export function askToken({ wrong }) {
  const input = h("input", { id: "token-input", type: "password", autocomplete: "current-password", required: true });
  const lasting = h("input", { type: "checkbox" });
  return ask(
    "unlock",
    [
      h("p", { class: "soft", t: wrong ? "token_wrong" : "token_why" }),
      h("label", { for: "token-input", class: "field-label", t: "token" }),
      input,
      h("label", { class: "check" }, lasting, h("span", { t: "token_keep" })),
    ],
    { confirm: "unlock", value: () => ({ token: input.value, lasting: lasting.checked }) },
  );
}

/** True if the reader wants it. */
export async function confirmed(title, { text, values, confirm, danger = true }) {
  return (
    (await ask(title, [h("p", { class: "soft", t: text, values })], { confirm, danger, value: () => true })) === true
  );
}

/** The new text, or null. */
export function askText(title, current, { label, confirm }) {
  const input = h("input", { id: "text-input", type: "text", maxlength: "200", required: true, value: current });
  return ask(title, [h("label", { for: "text-input", class: "field-label", t: label }), input], {
    confirm,
    value: () => input.value.trim() || null,
  });
}

/** Show a dialog; resolves to value() when confirmed, to null when left. */
export function ask(title, children, { confirm, danger = false, value }) {
  return new Promise((resolve) => {
    let result = null;
    const form = h(
      "form",
      {
        method: "dialog",
        on: {
          submit: (event) => {
            event.preventDefault();
            result = value();
            dialog.close();
          },
        },
      },
      h("h2", { id: "dialog-title", t: title }),
      ...children,
      h(
        "div",
        { class: "dialog-foot" },
        h("button", { type: "button", class: "button", t: "cancel", on: { click: () => dialog.close() } }),
        h("button", { class: danger ? "button danger" : "button primary", t: confirm }),
      ),
    );
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("input:not([type=checkbox])")?.select();
  });
}
