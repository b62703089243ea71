import type { Page } from "../../kernel/page.ts"
import type { Index } from "../view/indexes.ts"
import type { Value } from "../view/statement.ts"
import { literal } from "../view/view.ts"
import {
  type Built,
  type Cursor,
  following,
  orderOf,
  type Searchable,
  sortsOf,
  withJoined,
} from "./condition.ts"

/** What a search asks for, its conditions as SQL. */
export type Requested = {
  readonly what: Searchable
  readonly built: Built
  readonly where: string
  /** Where all that is asked is what does not fulfil one condition: that, and what is seen. */
  readonly except: { readonly seen: string; readonly but: string } | undefined
  readonly sort: string
  readonly page: Page
  /** The row that the page goes on after; its offset then only says which page that is. */
  readonly after: Cursor | undefined
  /** The index that is sorted like the list, and that of the list's own order. */
  readonly index: Index | undefined
  readonly own: Index | undefined
  /** Whether the key of a row finds it in its table. */
  readonly isKey: boolean
}

/**
 * The statements of one search. Rows that are found are told by their keys as long as they are few;
 * those are then read and sorted. Of many, they are counted, and the page is read by walking along
 * the index that has the list's order until it is full.
 */
export type Plan = {
  /** Keys of all that is found, as long as they are few. */
  readonly keys: string
  readonly total: string
  /** The total as what is left of all that is seen: an index finds what is taken away. */
  readonly seen: string | undefined
  readonly taken: string | undefined
  /** The page of those that `$keys` names. */
  readonly few: string
  readonly many: string
  /** The same from the end of the list, `$limit` and `$offset` counted from there. */
  readonly back: string | undefined
}

/** So many rows are sorted faster than they are looked for in order. */
export const fewMax = 5000

export function planOf(requested: Requested, most = fewMax): Plan {
  const { what, built, where, except } = requested
  const source =
    built.joins && what.joined ? `(${withJoined(what.joined, what.table)})` : what.table
  const onward = onwardOf(requested)
  const along = { ...requested, where: where + onward }
  const listed = "IN (SELECT value FROM json_each($keys))"
  const keyed = requested.isKey ? "instance = $instance" : where
  const count = (conditions: string) =>
    `SELECT count(*) AS total FROM ${source} WHERE ${conditions}`
  const page = (conditions: string) => pageBy(requested, source, conditions)
  return {
    keys: `SELECT ${what.key} AS key FROM ${source} WHERE ${where} LIMIT ${most + 1}`,
    total: count(where),
    seen: except && count(except.seen),
    taken: except && count(`${except.seen} AND ${except.but}`),
    few: page(`${keyed}${onward} AND ${what.key} ${listed}`),
    many: walk(along, requested.page.asc) ?? page(where + onward),
    back: requested.after ? undefined : walk(along, !requested.page.asc),
  }
}

/** Where rows that are alike are many, what sorts these has an index that the table has anyway. */
export const tieOf = ({ index, what }: Pick<Requested, "index" | "what">): string | undefined =>
  index?.dominant === undefined ? undefined : what.sort

function onwardOf({ what, built, sort, page, after, ...requested }: Requested): string {
  const order = { sort, tie: tieOf({ ...requested, what }) }
  return after ? ` AND ${following(built, what, { ...order, asc: page.asc, after })}` : ""
}

/** Rows of the page as SQLite finds them; what they show of others is read for these alone. */
function pageBy(requested: Requested, source: string, conditions: string): string {
  const { what, built, sort, page } = requested
  const order = { sort, tie: tieOf(requested) }
  const by = (row: string) => orderOf(what, order, { asc: page.asc, row })
  const rows = `SELECT * FROM ${source} WHERE ${conditions} ${by("")} LIMIT $limit OFFSET $offset`
  if (!what.joined || built.joins) return rows
  return `${withJoined(what.joined, `(${rows})`)} ${by("t.")}`
}

/** The keys of the page along an index, and then their rows; undefined where there is no such. */
function walk(requested: Requested, asc: boolean): string | undefined {
  const { what, built, sort, page, index, isKey } = requested
  if (!index || !isKey || built.joins) return undefined
  const tie = tieOf(requested)
  const keys =
    index.dominant === undefined
      ? keysAlong(requested, { index, sort, tie, asc })
      : keysBeside(requested, index.dominant, asc)
  const rows = `SELECT * FROM ${what.table} WHERE instance = $instance AND ${what.key} IN (${keys})`
  const by = orderOf(what, { sort, tie }, { asc: page.asc, row: "t." })
  const shown = what.joined ? withJoined(what.joined, `(${rows})`) : `SELECT t.* FROM (${rows}) t`
  return `${shown} ${by}`
}

type Along = {
  readonly index: Index | undefined
  readonly sort: string
  readonly tie: string | undefined
  readonly asc: boolean
  readonly where?: string
  readonly columns?: readonly string[]
  readonly window?: string
}

const keysAlong = (
  { what, ...requested }: Requested,
  { index, sort, tie, asc, where = requested.where, columns = [what.key], window }: Along,
): string =>
  `SELECT ${columns.join(", ")} FROM ${what.table}${index ? ` INDEXED BY ${index.name}` : ""}
   WHERE ${where} ${orderOf(what, { sort, tie }, { asc })}
   LIMIT ${window ?? "$limit OFFSET $offset"}`

/**
 * Keys in the order of a column where nearly all rows have the same value, which are not in its
 * index: those that come before, these in the order of the list's own index, and those after.
 */
function keysBeside(requested: Requested, dominant: string, asc: boolean): string {
  const { what, sort, index, own, where, after } = requested
  const value = literal(dominant)
  const tie = what.sort
  const columns = sortsOf(what, { sort, tie })
  const part = (by: "<" | "=" | ">"): string => {
    const isIn = by === "=" ? "" : ` AND ${sort} <> ${value}`
    const onward = after ? ` AND ${onwardIn(requested, { by, after, dominant })}` : ""
    const along = by === "=" ? { index: own, sort: tie, tie: undefined } : { index, sort, tie }
    return `SELECT * FROM (${keysAlong(requested, {
      ...along,
      asc,
      columns,
      window: "$limit + $offset",
      where: `${where}${isIn} AND ${sort} ${by} ${value}${onward}`,
    })})`
  }
  const all = [part("<"), part("="), part(">")].join(" UNION ALL ")
  return `SELECT ${what.key} FROM (${all}) ${orderOf(what, { sort, tie }, { asc })}
    LIMIT $limit OFFSET $offset`
}

type Part = { readonly by: "<" | "=" | ">"; readonly after: Cursor; readonly dominant: string }

/** What of a part comes after a row: all of it, nothing, or what comes after within that part. */
function onwardIn(requested: Requested, { by, after, dominant }: Part): string {
  const { what, built, sort, page } = requested
  const found = compareBytes(after[sort] ?? null, dominant)
  const at = found < 0 ? "<" : found > 0 ? ">" : "="
  if (by !== at) return ranks[by] > ranks[at] === page.asc ? "true" : "false"
  const order = by === "=" ? { sort: what.sort } : { sort, tie: what.sort }
  return following(built, what, { ...order, after, asc: page.asc })
}
const ranks = { "<": 0, "=": 1, ">": 2 } as const

/** As SQLite compares texts. */
const compareBytes = (one: Value, other: string): number =>
  Buffer.compare(Buffer.from(`${one}`), Buffer.from(other))
