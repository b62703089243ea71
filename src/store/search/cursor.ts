import { hash } from "node:crypto"
import { type Lru, lru } from "../../kernel/lru.ts"
import { perInstance } from "../cached.ts"
import type { Cx } from "../store.ts"
import type { Value } from "../view/statement.ts"
import type { Cursor } from "./condition.ts"

type StoredCursor = { readonly row: Cursor; readonly time: number }

/** The next page must be requested within this time; later requests use offsets. */
const cursorLifetimeMs = 60_000
/** The least recently used cursors are dropped first, for each instance separately. */
const maxCursors = 1000

const cursorsOf = perInstance<Lru<StoredCursor>>(() => lru(maxCursors))

/** A page that was read: its offset, the row it continued after, and its rows. */
type PageRead = {
  readonly offset: number
  readonly limit: number
  readonly after: Cursor | undefined
  readonly rows: readonly unknown[]
}

/**
 * Remembers the last rows of one caller's list pages, so that the page at the next offset continues
 * directly after that row. Counting from the start would skip or repeat rows when an earlier row is
 * created or removed. Requests can't contain the cursor, so it is stored here.
 * The first page never uses a cursor: it shows everything. Plain offsets are used for pages that
 * did not follow another one, after a pause or a restart, and for lists whose filters depend on
 * other lists that have changed. Two readers of the same list with the same credentials at the same
 * time share a cursor.
 */
export function listCursors(cx: Cx, query: unknown) {
  const cacheKeyText = JSON.stringify([cx.caller, cx.scope, query], (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  )
  const stored = cursorsOf(cx)
  const key = hash("sha256", cacheKeyText, "base64")
  const now = cx.clock.now()
  return {
    at: (offset: number): Cursor | undefined => {
      const kept = offset > 0 ? stored.get(`${key}${offset}`) : undefined
      return kept && now - kept.time <= cursorLifetimeMs ? kept.row : undefined
    },
    /**
     * Stores the last row's values in these columns; a row with a missing value can't be a cursor.
     * A page that was not full can also be continued when the list has grown: readers then add
     * either the number of rows or the page size.
     */
    keep: ({ offset, limit, after, rows }: PageRead, columns: readonly string[]) => {
      const last = rows.at(-1) ?? after
      if (last === undefined) return
      const all = new Map<string, Value>(Object.entries(last))
      const values = columns.map((name) => [name, all.get(name) ?? null] as const)
      for (const nextOffset of new Set([offset + rows.length, offset + limit])) {
        if (values.some(([, value]) => value === null)) stored.delete(`${key}${nextOffset}`)
        else stored.set(`${key}${nextOffset}`, { row: Object.fromEntries(values), time: now })
      }
    },
  }
}
