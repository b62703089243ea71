import { hash } from "node:crypto"
import { type Recent, recent } from "../kernel/recent.ts"
import { ofInstance } from "./remembered.ts"
import type { Value } from "./statement.ts"
import type { Cx } from "./store.ts"

/** What a row has in the columns that its list is sorted by. */
export type Bookmark = Readonly<Record<string, Value>>

type Kept = { readonly row: Bookmark; readonly time: number }

/** A reader asks for the next page within this time, or gets the one that is there by then. */
const keptMs = 60_000
/** What nobody asked for lately goes first, on every instance for itself. */
const keptMax = 1000

const bookmarksOf = ofInstance<Recent<Kept>>(() => recent(keptMax))

/**
 * Where the pages of one caller's list have ended, so that a page which begins at that offset goes
 * on after that very row. Counted from the beginning it would begin elsewhere as soon as somebody
 * creates or removes a row that comes before: rows would be read twice, or never. A request can't
 * carry the place, so it is remembered here.
 *
 * The first page is never one that goes on: it shows all that is there. By their number alone are
 * found pages that no other one led to, those after a pause or a new start of the process, and
 * those of a list whose filters other lists answer, if these have changed. Of two who read the same
 * list with the same credentials at the same time, both go on where the later one was.
 */
export function bookmarks(cx: Cx, query: unknown) {
  const asked = JSON.stringify([cx.caller, cx.scope, query], (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  )
  const of = bookmarksOf(cx)
  const key = hash("sha256", asked, "base64")
  const now = cx.clock.now()
  return {
    at: (offset: number): Bookmark | undefined => {
      const kept = offset > 0 ? of.get(`${key}${offset}`) : undefined
      return kept && now - kept.time <= keptMs ? kept.row : undefined
    },
    /** Keeps what a row has in these columns; one that lacks any is no place to go on from. */
    keep: (offset: number, columns: readonly string[], row: unknown) => {
      const all = new Map<string, Value>(Object.entries(row ?? {}))
      const has = columns.map((name) => [name, all.get(name) ?? null] as const)
      if (has.some(([, value]) => value === null)) of.delete(`${key}${offset}`)
      else of.set(`${key}${offset}`, { row: Object.fromEntries(has), time: now })
    },
  }
}
