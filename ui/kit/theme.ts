export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

const key = "latchkey.theme"

/** The colours chosen in this browser; the login pages read the same place. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(key)
  return themes.find((theme) => theme === stored) ?? "system"
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(key)
    delete document.documentElement.dataset.theme
    return
  }
  localStorage.setItem(key, theme)
  document.documentElement.dataset.theme = theme
}
