import { draftPrefix } from "../shell/index.ts"
import type { StoredEdits } from "./edits.ts"

/** Drafts of another format are not read. */
const format = "2"

/**
 * Unsaved changes stay in this tab, also after a reload and a sign-in. Each changed field is stored
 * with the value that it had before. Forms omit their secrets.
 */
const keyOf = (id: string) => `${draftPrefix} ${format} ${location.pathname} ${id}`

export function readDraft(id: string): StoredEdits | undefined {
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
