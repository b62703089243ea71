import type { Edits } from "./edits.ts"

/**
 * What was changed and not yet sent stays in this tab: it survives a reload and a sign-in. It is
 * kept with the value that each field had before, and without the fields that were not changed.
 * Forms leave their secrets out before they hand it over.
 */
const prefix = "latchkey.draft"

/** Drafts of another format are not read. */
const format = "2"

const keyOf = (id: string) => `${prefix} ${format} ${location.pathname} ${id}`

export function readDraft(id: string): Edits | undefined {
  const stored = sessionStorage.getItem(keyOf(id))
  if (stored === null) return undefined
  const draft: unknown = JSON.parse(stored)
  if (typeof draft !== "object" || draft === null) return undefined
  const edits = Object.entries(draft).flatMap(([name, edit]: [string, unknown]) =>
    typeof edit === "object" && edit && "base" in edit && "value" in edit
      ? [[name, { base: edit.base, value: edit.value, ...seenIn(edit) }] as const]
      : [],
  )
  return Object.fromEntries(edits)
}

const seenIn = (edit: object) =>
  "seen" in edit && typeof edit.seen === "object" && edit.seen ? { seen: edit.seen } : {}

export const writeDraft = (id: string, draft: string): void =>
  sessionStorage.setItem(keyOf(id), draft)

export const dropDraft = (id: string): void => sessionStorage.removeItem(keyOf(id))

/** Which form of a family was left with something changed in it; undefined where none was. */
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
