// What a reader chose on this device.

/** A choice, or null. Storage may be switched off: then choices last as long as the page. */
export function kept(name) {
  try {
    return sessionStorage.getItem(`vaultline.${name}`) ?? localStorage.getItem(`vaultline.${name}`);
  } catch {
    return null;
  }
}

/** Keep a choice on this device, or with `lasting: false` in this tab only. null forgets it. */
export function keep(name, value, { lasting = true } = {}) {
  try {
    for (const storage of [localStorage, sessionStorage]) storage.removeItem(`vaultline.${name}`);
    if (value !== null) (lasting ? localStorage : sessionStorage).setItem(`vaultline.${name}`, value);
  } catch {
    // see kept
  }
}
