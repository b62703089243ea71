import { hash } from "node:crypto"
import { type Lru, lru } from "../../kernel/lru.ts"
import { ofInstance } from "../cached.ts"
import type { Cx } from "../store.ts"
import type { Value } from "../view/statement.ts"
import type { Cursor } from "./condition.ts"

type Kept = { readonly row: Cursor; readonly time: number }

/** A reader asks for the next page within this time, or gets the one that is there by then. */
const keptMs = 60_000
/** What nobody asked for lately goes first, on every instance for itself. */
const keptMax = 1000

const cursorsOf = ofInstance<Lru<Kept>>(() => lru(keptMax))

/** A page that was read: where it began, what it went on after, and what it showed. */
type Read = {
  readonly offset: number
  readonly limit: number
  readonly after: Cursor | undefined
  readonly rows: readonly unknown[]
}

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
export function cursors(cx: Cx, query: unknown) {
  const requested = JSON.stringify([cx.caller, cx.scope, query], (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  )
  const of = cursorsOf(cx)
  const key = hash("sha256", requested, "base64")
  const now = cx.clock.now()
  return {
    at: (offset: number): Cursor | undefined => {
      const kept = offset > 0 ? of.get(`${key}${offset}`) : undefined
      return kept && now - kept.time <= keptMs ? kept.row : undefined
    },
    /**
     * Keeps what the last row has in these columns; one that lacks any is no place to go on from. A
     * page that was not full may be followed by one all the same, when the list has grown: readers
     * then count the rows that they got, or full pages.
     */
    keep: ({ offset, limit, after, rows }: Read, columns: readonly string[]) => {
      const last = rows.at(-1) ?? after
      if (last === undefined) return
      const all = new Map<string, Value>(Object.entries(last))
      const has = columns.map((name) => [name, all.get(name) ?? null] as const)
      for (const next of new Set([offset + rows.length, offset + limit])) {
        if (has.some(([, value]) => value === null)) of.delete(`${key}${next}`)
        else of.set(`${key}${next}`, { row: Object.fromEntries(has), time: now })
      }
    },
  }
}
