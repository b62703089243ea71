/**
 * What was typed and not yet sent stays in this tab: it survives a reload and a sign-in. Forms
 * leave their secrets out before they hand it over.
 */
const prefix = "latchkey.draft"

const keyOf = (id: string) => `${prefix} ${location.pathname} ${id}`

export function readDraft(id: string): Readonly<Record<string, unknown>> | undefined {
  const stored = sessionStorage.getItem(keyOf(id))
  if (stored === null) return undefined
  const value: unknown = JSON.parse(stored)
  return typeof value === "object" && value !== null ? { ...value } : undefined
}

export const writeDraft = (id: string, values: object): void =>
  sessionStorage.setItem(keyOf(id), JSON.stringify(values))

export const dropDraft = (id: string): void => sessionStorage.removeItem(keyOf(id))

/** Which form of a family was left with something typed in it; undefined where none was. */
export function draftOf(family: string): string | undefined {
  const start = `${keyOf(family)}:`
  const key = Object.keys(sessionStorage).find((one) => one.startsWith(start))
  return key?.slice(start.length)
}

/** Whoever signs out leaves nothing behind for the next one. */
export function dropDrafts(): void {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(prefix)) sessionStorage.removeItem(key)
  }
}
