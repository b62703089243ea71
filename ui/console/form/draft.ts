import { draftPrefix } from "../shell/index.ts"
import type { StoredEdits } from "./edits.ts"

/** Version of the format; drafts of other versions are ignored. */
const formatVersion = "2"

/**
 * Drafts are stored in the tab, so they survive a reload and a sign-in. Each changed field is
 * stored with its original value. Secrets are not stored.
 */
const storageKey = (id: string) => `${draftPrefix} ${formatVersion} ${location.pathname} ${id}`

export function readDraft(id: string): StoredEdits | undefined {
  const stored = sessionStorage.getItem(storageKey(id))
  if (stored === null) return undefined
  const draft: unknown = JSON.parse(stored)
  if (typeof draft !== "object" || draft === null) return undefined
  const edits = Object.entries(draft).flatMap(([name, edit]: [string, unknown]) =>
    typeof edit === "object" && edit && "base" in edit && "value" in edit
      ? [[name, { base: edit.base, value: edit.value, ...parseSeen(edit) }] as const]
      : [],
  )
  return Object.fromEntries(edits)
}

const parseSeen = (edit: object) =>
  "seen" in edit && typeof edit.seen === "object" && edit.seen ? { seen: edit.seen } : {}

export const writeDraft = (id: string, draft: string): void =>
  sessionStorage.setItem(storageKey(id), draft)

export const deleteDraft = (id: string): void => sessionStorage.removeItem(storageKey(id))

/** The form of a family that has a draft, or undefined. */
export function findDraft(family: string): string | undefined {
  const start = `${storageKey(family)}:`
  const key = Object.keys(sessionStorage).find((one) => one.startsWith(start))
  return key?.slice(start.length)
}
