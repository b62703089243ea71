import type { Page } from "../../kernel/page.ts"
import type { Index } from "../view/indexes.ts"
import type { Value } from "../view/statement.ts"
import { sqlLiteral } from "../view/view.ts"
import {
  afterCursor,
  type Cursor,
  orderBy,
  type Searchable,
  type StatementBuilder,
  sortColumns,
  withJoined,
} from "./condition.ts"

/** A search with its conditions as SQL. */
export type SearchInput = {
  readonly what: Searchable
  readonly built: StatementBuilder
  readonly where: string
  /**
   * For a search with a single negated condition: the visible rows, and the condition to exclude.
   */
  readonly except: { readonly seen: string; readonly but: string } | undefined
  readonly sort: string
  readonly page: Page
  /** The row after which the page continues; its offset then only identifies the page. */
  readonly after: Cursor | undefined
  /** The index in the requested order, and the one in the list's default order. */
  readonly index: Index | undefined
  readonly own: Index | undefined
  /** Whether the key of a row is its table's primary key. */
  readonly isKey: boolean
}

/**
 * The statements of one search. While few rows match, their keys are collected, and the page is
 * read and sorted from them. Otherwise the matches are counted, and the page is read along the
 * index in the list's order until it is full.
 */
export type Plan = {
  /** The keys of all matches, up to a limit. */
  readonly keys: string
  readonly total: string
  /** For the total as a difference: visible rows minus excluded ones, which an index finds. */
  readonly seen: string | undefined
  readonly taken: string | undefined
  /** The page out of the keys in `$keys`. */
  readonly few: string
  readonly many: string
  /** The same from the end of the list, with `$limit` and `$offset` counted from there. */
  readonly back: string | undefined
}

/** Up to this many rows, sorting is faster than reading along an index. */
export const maxSorted = 5000

export function createPlan(requested: SearchInput, maxFew = maxSorted): Plan {
  const { what, built, where, except } = requested
  const source =
    built.joins && what.joined ? `(${withJoined(what.joined, what.table)})` : what.table
  const afterCondition = cursorCondition(requested)
  const along = { ...requested, where: where + afterCondition }
  const inKeys = "IN (SELECT value FROM json_each($keys))"
  const keyCondition = requested.isKey ? "instance = $instance" : where
  const count = (conditions: string) =>
    `SELECT count(*) AS total FROM ${source} WHERE ${conditions}`
  const page = (conditions: string) => pageStatement(requested, source, conditions)
  return {
    keys: `SELECT ${what.key} AS key FROM ${source} WHERE ${where} LIMIT ${maxFew + 1}`,
    total: count(where),
    seen: except && count(except.seen),
    taken: except && count(`${except.seen} AND ${except.but}`),
    few: page(`${keyCondition}${afterCondition} AND ${what.key} ${inKeys}`),
    many: indexWalk(along, requested.page.asc) ?? page(where + afterCondition),
    back: requested.after ? undefined : indexWalk(along, !requested.page.asc),
  }
}

/** With many equal values, ties are sorted by the list's own column, which has an index anyway. */
export const tieColumnOf = ({
  index,
  what,
}: Pick<SearchInput, "index" | "what">): string | undefined =>
  index?.dominant === undefined ? undefined : what.sort

function cursorCondition({ what, built, sort, page, after, ...requested }: SearchInput): string {
  const order = { sort, tie: tieColumnOf({ ...requested, what }) }
  return after ? ` AND ${afterCursor(built, what, { ...order, asc: page.asc, after })}` : ""
}

/** The rows of the page as SQLite finds them; joins are only made for these. */
function pageStatement(requested: SearchInput, source: string, conditions: string): string {
  const { what, built, sort, page } = requested
  const order = { sort, tie: tieColumnOf(requested) }
  const ordering = (row: string) => orderBy(what, order, { asc: page.asc, row })
  const sorted = ordering("")
  const rows = `SELECT * FROM ${source} WHERE ${conditions} ${sorted} LIMIT $limit OFFSET $offset`
  if (!what.joined || built.joins) return rows
  return `${withJoined(what.joined, `(${rows})`)} ${ordering("t.")}`
}

/** The keys of the page along an index, then their rows; undefined without a suitable index. */
function indexWalk(requested: SearchInput, asc: boolean): string | undefined {
  const { what, built, sort, page, index, isKey } = requested
  if (!index || !isKey || built.joins) return undefined
  const tie = tieColumnOf(requested)
  const keys =
    index.dominant === undefined
      ? keysAlongIndex(requested, { index, sort, tie, asc })
      : keysAroundDominant(requested, index.dominant, asc)
  const rows = `SELECT * FROM ${what.table} WHERE instance = $instance AND ${what.key} IN (${keys})`
  const ordering = orderBy(what, { sort, tie }, { asc: page.asc, row: "t." })
  const shown = what.joined ? withJoined(what.joined, `(${rows})`) : `SELECT t.* FROM (${rows}) t`
  return `${shown} ${ordering}`
}

type WalkOptions = {
  readonly index: Index | undefined
  readonly sort: string
  readonly tie: string | undefined
  readonly asc: boolean
  readonly where?: string
  readonly columns?: readonly string[]
  readonly window?: string
}

const keysAlongIndex = (
  { what, ...requested }: SearchInput,
  { index, sort, tie, asc, where = requested.where, columns = [what.key], window }: WalkOptions,
): string =>
  `SELECT ${columns.join(", ")} FROM ${what.table}${index ? ` INDEXED BY ${index.name}` : ""}
   WHERE ${where} ${orderBy(what, { sort, tie }, { asc })}
   LIMIT ${window ?? "$limit OFFSET $offset"}`

/**
 * Keys in the order of a column with a dominant value, which its index excludes: smaller values,
 * the dominant one in the order of the list's own index, and larger values.
 */
function keysAroundDominant(requested: SearchInput, dominant: string, asc: boolean): string {
  const { what, sort, index, own, where, after } = requested
  const value = sqlLiteral(dominant)
  const tie = what.sort
  const columns = sortColumns(what, { sort, tie })
  const part = (ordering: "<" | "=" | ">"): string => {
    const exclusion = ordering === "=" ? "" : ` AND ${sort} <> ${value}`
    const afterCondition = after
      ? ` AND ${cursorConditionIn(requested, { by: ordering, after, dominant })}`
      : ""
    const along =
      ordering === "=" ? { index: own, sort: tie, tie: undefined } : { index, sort, tie }
    return `SELECT * FROM (${keysAlongIndex(requested, {
      ...along,
      asc,
      columns,
      window: "$limit + $offset",
      where: `${where}${exclusion} AND ${sort} ${ordering} ${value}${afterCondition}`,
    })})`
  }
  const all = [part("<"), part("="), part(">")].join(" UNION ALL ")
  return `SELECT ${what.key} FROM (${all}) ${orderBy(what, { sort, tie }, { asc })}
    LIMIT $limit OFFSET $offset`
}

type DominantPart = {
  readonly by: "<" | "=" | ">"
  readonly after: Cursor
  readonly dominant: string
}

/** Which rows of a part follow a cursor: all, none, or those after it within the part. */
function cursorConditionIn(
  requested: SearchInput,
  { by: ordering, after, dominant }: DominantPart,
): string {
  const { what, built, sort, page } = requested
  const found = compareBytes(after[sort] ?? null, dominant)
  const cursorPart = found < 0 ? "<" : found > 0 ? ">" : "="
  if (ordering !== cursorPart)
    return ranks[ordering] > ranks[cursorPart] === page.asc ? "true" : "false"
  const order = ordering === "=" ? { sort: what.sort } : { sort, tie: what.sort }
  return afterCursor(built, what, { ...order, after, asc: page.asc })
}
const ranks = { "<": 0, "=": 1, ">": 2 } as const

/** Compares texts like SQLite. */
const compareBytes = (one: Value, other: string): number =>
  Buffer.compare(Buffer.from(`${one}`), Buffer.from(other))
