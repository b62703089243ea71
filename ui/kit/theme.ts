export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

const storageKey = "latchkey.theme"

/** The theme selected in this browser; shared with the login pages. */
export function storedTheme(): Theme {
  const stored = localStorage.getItem(storageKey)
  return themes.find((theme) => theme === stored) ?? "system"
}

export function storeTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(storageKey)
    delete document.documentElement.dataset.theme
    return
  }
  localStorage.setItem(storageKey, theme)
  document.documentElement.dataset.theme = theme
}
