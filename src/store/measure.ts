import { fold } from "../kernel/name.ts"
import type { Searchable } from "./condition.ts"
import { among, type Built, condition, type Filter, parameter, prefixed } from "./condition.ts"
import { known } from "./known.ts"
import {
  between,
  type Held,
  type IndexPlace,
  inIndex,
  isLike,
  type Key,
  type Ledger,
  type Range,
} from "./ledger.ts"
import type { Value } from "./statement.ts"
import type { Cx } from "./store.ts"

/** How many rows a filter finds, and how to get at them without a look at all others. */
export type Measure = {
  /** Exactly so many, or no more than that. */
  readonly rows: number
  readonly isExact: boolean
  readonly way?: Way | undefined
}

/** A condition that all rows of a filter fulfil, and the index that finds them by it. */
export type Way = {
  readonly index: string | undefined
  readonly sql: (built: Built) => string
}

/** One search of a long table. */
export type Survey = {
  readonly cx: Cx
  readonly what: Searchable
  /** Rows of the table, in the instance. */
  readonly total: number
  /** So many rows are read one by one rather than all in the order asked for. */
  readonly few: number
}

/** Undefined where only the rows themselves can tell. */
export function measure(survey: Survey, filter: Filter): Measure | undefined {
  if ("all" in filter) return measureAll(survey, filter.all)
  if ("any" in filter) return measureAny(survey, filter.any)
  if ("not" in filter) return measureNot(survey, filter.not)
  if ("equals" in filter) return measureList(survey, filter.equals, [filter.value])
  if ("oneOf" in filter) return measureList(survey, filter.oneOf, filter.values)
  if ("text" in filter) return measureText(survey, filter)
  const { by, value } = filter
  const place = placeOf(survey, filter.compare)
  if (!place || place.isText) return undefined
  const edge = by === ">" || by === "<=" ? Math.floor(value) + 1 : Math.ceil(value)
  const range = by.startsWith(">")
    ? { from: edge }
    : { from: Number.NEGATIVE_INFINITY, below: edge }
  return {
    rows: ledgerOf(survey, place).rows(range),
    isExact: true,
    way: {
      index: place.name,
      sql: (built) => `${place.key} ${by} ${parameter(built, value)}`,
    },
  }
}

const placeOf = ({ cx, what }: Survey, column: string): IndexPlace | undefined =>
  cx.store.index(what.table, column)

const ledgerOf = ({ cx }: Survey, place: IndexPlace): Ledger => cx.store.ledger(cx, place)

/** Rows that are not in an index, because they have there what nearly all have. */
const usualRows = (survey: Survey, place: IndexPlace): number =>
  place.usual === undefined ? 0 : survey.total - ledgerOf(survey, place).rows()

/** What only rows of an index fulfil, as a way to them. */
const wayIn = (place: IndexPlace, sql: (built: Built) => string): Way => ({
  index: place.name,
  sql: (built) => inIndex(place, sql(built)),
})

/** What is fulfilled by all rows of each, so the shortest way to one of them is a way to all. */
function measureAll(survey: Survey, filters: readonly Filter[]): Measure | undefined {
  const found = filters.flatMap((each) => measure(survey, each) ?? [])
  const [least] = found.toSorted((a, b) => Number(!a.way) - Number(!b.way) || a.rows - b.rows)
  if (!least) return filters.length === 0 ? { rows: survey.total, isExact: true } : undefined
  return { ...least, isExact: filters.length === 1 && least.isExact }
}

/** All others; where they are few for a text, these are told. */
function measureNot(survey: Survey, filter: Filter): Measure | undefined {
  const inner = measure(survey, filter)
  if (!inner) return undefined
  const isTold = !inner.isExact && inner.way && inner.rows <= survey.few
  if (!inner.isExact && !isTold) return undefined
  const found = isTold ? keysOf(survey, [filter], inner.way).length : inner.rows
  const rows = survey.total - found
  const way = rows <= survey.few ? wayPast(survey, filter) : undefined
  return { rows, isExact: true, way }
}

/** The way to the few rows that a filter does not find. */
export function wayPast(survey: Survey, filter: Filter): Way | undefined {
  if ("text" in filter) return wayPastText(survey, filter)
  const one = singleOf(filter)
  const place = one && placeOf(survey, one.column)
  return place?.usual === one?.value && place ? wayIn(place, () => "true") : undefined
}

/** The one value that a filter asks a column for. */
export function singleOf(
  filter: Filter,
): { readonly column: string; readonly value: Value } | undefined {
  if ("equals" in filter) return { column: filter.equals, value: filter.value }
  if (!("oneOf" in filter) || filter.values.length !== 1) return undefined
  const [value = null] = filter.values
  return { column: filter.oneOf, value }
}

/** The way to the few rows whose text is not like that. */
function wayPastText(survey: Survey, { text, method, value }: Text): Way | undefined {
  const own = placeOf(survey, text)
  const folded = placeOf(survey, `${text}_folded`)
  const place = own ?? (folded?.raw === text ? folded : undefined)
  if (!place || (place.usual !== undefined && !isLike(place.usual, method, value))) return undefined
  const as = own ? "key" : "raw"
  const asked = { as, how: method, value, few: survey.few, isNot: true } as const
  const held = ledgerOf(survey, place).held(asked)
  return held && wayTo(held, place, own === undefined)
}

type Part = { readonly filter: Filter; readonly measure: Measure }

/**
 * Few rows of each are read, since no row counts twice; of many, all that are few are compared with
 * the one that is not.
 */
function measureAny(survey: Survey, filters: readonly Filter[]): Measure | undefined {
  const few: (Part & { readonly way: Way })[] = []
  const many: Part[] = []
  let sum = 0
  for (const filter of together(survey, filters)) {
    const found = "any" in filter ? measureRow(survey, filter.any) : measure(survey, filter)
    if (!found) return undefined
    if (found.rows === 0) continue
    if (found.way && found.rows <= survey.few) {
      few.push({ filter, measure: found, way: found.way })
      sum += found.rows
    } else many.push({ filter, measure: found })
  }
  const rest = many.flatMap((part) => past(survey, part, filters) ?? [])[0]
  if (rest !== undefined) return { rows: survey.total - rest, isExact: true }
  if (many.length > 1 || sum > survey.few) return undefined
  const [most] = many
  const [one] = few
  if (!most && !one) {
    return { rows: 0, isExact: true, way: { index: undefined, sql: () => "false" } }
  }
  if (!most && one && few.length === 1) return one.measure
  if (most && !most.measure.isExact) return undefined
  const others: readonly Filter[] = most ? [{ not: most.filter }] : []
  const keys = new Set(few.flatMap(({ filter, way }) => keysOf(survey, [filter, ...others], way)))
  if (most) return { rows: most.measure.rows + keys.size, isExact: true }
  const sql = (built: Built) => among(built, survey.what.key, [...keys])
  return { rows: keys.size, isExact: true, way: { index: undefined, sql } }
}

/** Where all but a few rows fulfil one of them: how many fulfil none. */
function past(
  survey: Survey,
  { filter, measure: found }: Part,
  filters: readonly Filter[],
): number | undefined {
  if (!found.isExact || survey.total - found.rows > survey.few) return undefined
  if (found.rows === survey.total) return 0
  const way = wayPast(survey, filter)
  return way && keysOf(survey, [{ not: { any: filters } }], way).length
}

/** Puts those together that look for the same within texts which one index has side by side. */
function together(survey: Survey, filters: readonly Filter[]): readonly Filter[] {
  const flat = wider(
    filters.flatMap(function parts(filter): readonly Filter[] {
      return "any" in filter ? filter.any.flatMap(parts) : [filter]
    }),
  )
  const values = new Set(flat.flatMap((each) => ("text" in each ? [each.value] : [])))
  return [...values].reduce<readonly Filter[]>((all, value) => {
    const alike = all.filter((each) => "text" in each && isWithin(each, value))
    const place = alike.length > 1 ? rowPlace(survey, alike) : undefined
    return place ? [...all.filter((each) => !alike.includes(each)), { any: alike }] : all
  }, flat)
}

/** Without what another one finds as well: "Anna" begins as "Ann" does. */
const wider = (filters: readonly Filter[]): readonly Filter[] =>
  filters.filter(
    (each, at) =>
      !filters.some(
        (other, index) =>
          index !== at && covers(other, each) && !(at < index && covers(each, other)),
      ),
  )

/** Whether one finds all that the other does. */
export const covers = (one: Filter, other: Filter): boolean =>
  "text" in one &&
  "text" in other &&
  one.text === other.text &&
  one.method === "starts_with" &&
  other.method === "starts_with" &&
  other.value.startsWith(one.value)

const isWithin = (text: Text, value: string) => text.method === "contains" && text.value === value

/** The index that has just these texts side by side. */
function rowPlace(survey: Survey, filters: readonly Filter[]): IndexPlace | undefined {
  const columns = new Set(filters.flatMap((each) => ("text" in each ? [each.text] : [])))
  return [...columns]
    .flatMap((column) => placeOf(survey, column) ?? [])
    .find(({ key, beside, usual }) => {
      const has = new Set([key, ...beside])
      const isWhole = usual === undefined && has.size === columns.size
      return isWhole && [...columns].every((column) => has.has(column))
    })
}

/** Rows with a text somewhere in those that stand side by side. */
function measureRow(survey: Survey, filters: readonly Filter[]): Measure | undefined {
  const place = rowPlace(survey, filters)
  const [first] = filters
  if (!place || !first || !("text" in first)) return undefined
  if (first.value === "") return { rows: survey.total, isExact: true }
  const asked = { as: "row", how: "contains", value: first.value, few: survey.few } as const
  const held = ledgerOf(survey, place).held(asked)
  const texts = held?.texts?.map((text) => text.slice(0, text.indexOf(between)))
  return held && { rows: held.rows, isExact: true, way: wayTo({ ...held, texts }, place, false) }
}

export function keysOf(
  { cx, what }: Survey,
  filters: readonly Filter[],
  way: Way,
): readonly Value[] {
  const built: Built = { values: {}, conditions: 0, joins: false }
  const all = condition(built, open(what), { all: filters })
  const sql = `SELECT ${what.key} AS key FROM ${sourceOf(what, way)}
    WHERE instance = $instance AND ${way.sql(built)} AND ${all}`
  return cx.store.all(cx, known<{ key: Value }>(sql), built.values).map(({ key }) => key)
}

export const sourceOf = (what: Searchable, way: Way | undefined): string =>
  way?.index ? `${what.table} INDEXED BY ${way.index}` : what.table

/** Who owns a row may be told by columns that nobody searches. */
export const open = (what: Searchable): Searchable => ({
  ...what,
  columns: [...what.columns, ...Object.values(what.owner)],
})

/** The rows of longer lists are counted in one go. */
const valuesMax = 50

function measureList(survey: Survey, column: string, list: readonly Value[]): Measure | undefined {
  const values = [...new Set(list)]
  const sql = (built: Built) => among(built, column, values)
  if (column === survey.what.key) {
    return { rows: values.length, isExact: false, way: { index: undefined, sql } }
  }
  const place = placeOf(survey, column)
  if (!place) return undefined
  const isUsual = place.usual !== undefined && values.includes(place.usual)
  const usual = isUsual ? usualRows(survey, place) : 0
  const inside = wayIn(place, sql)
  const way = isUsual ? undefined : inside
  if (values.length > valuesMax)
    return { rows: usual + countBy(survey, inside), isExact: true, way }
  const ledger = ledgerOf(survey, place)
  const keys = values.filter((value): value is Key => isKey(value, place))
  if (keys.length < values.length) return undefined
  const rows = keys.reduce<number>((sum, key) => sum + ledger.rows(exactly(key)), usual)
  return { rows, isExact: true, way }
}

function countBy({ cx, what }: Survey, way: Way): number {
  const built: Built = { values: {}, conditions: 0, joins: false }
  const sql = `SELECT count(*) AS rows FROM ${sourceOf(what, way)}
    WHERE instance = $instance AND ${way.sql(built)}`
  return cx.store.get(cx, known<{ rows: number }>(sql), built.values)?.rows ?? 0
}

const isKey = (value: Value, { isText }: IndexPlace): value is Key =>
  isText ? typeof value === "string" : Number.isSafeInteger(value)

export const exactly = (key: Key): Range =>
  typeof key === "number" ? { from: key, below: key + 1 } : { from: key, below: `${key}\u0000` }

type Text = Extract<Filter, { text: string }>

function measureText(survey: Survey, { text, method, value }: Text): Measure | undefined {
  const own = placeOf(survey, text)
  const folded = placeOf(survey, `${text}_folded`)
  const place = own ?? (folded?.raw === text ? folded : undefined)
  if (!place?.isText) return undefined
  const ledger = ledgerOf(survey, place)
  const { key } = place
  if (method !== "equals" && value === "") return { rows: survey.total, isExact: true }
  const isUsual = place.usual !== undefined && isLike(place.usual, method, value)
  const usual = isUsual ? usualRows(survey, place) : 0
  if (own && (method === "equals" || method === "starts_with")) {
    const range = method === "equals" ? exactly(value) : prefixed(value)
    const as = { ...survey.what, columns: [key] }
    const sql = (built: Built) => condition(built, as, { text: key, method, value })
    const way = isUsual ? undefined : wayIn(place, sql)
    return { rows: usual + ledger.rows(range), isExact: true, way }
  }
  if (method === "equals") {
    if (isUsual) return { rows: usual, isExact: true }
    const alike = ledger.rows(exactly(fold(value)))
    const sql = (built: Built) => `${key} = ${parameter(built, fold(value))}`
    if (alike <= survey.few) return { rows: alike, isExact: false, way: wayIn(place, sql) }
  }
  const within = method === "starts_with" ? prefixed(headOf(value)) : undefined
  const as = own ? "key" : "raw"
  const held = ledger.held({ as, how: method, value, few: survey.few, within })
  const way = held && !isUsual ? wayTo(held, place, own === undefined) : undefined
  return held && { rows: usual + held.rows, isExact: true, way }
}

/**
 * Whether texts have to be looked through, more than a few, to measure a filter. Within others they
 * have to for the few that are not like a text, too.
 */
export function scans(survey: Survey, filter: Filter, isWithin = false): boolean {
  if ("all" in filter) return filter.all.some((each) => scans(survey, each, isWithin))
  if ("any" in filter) return filter.any.some((each) => scans(survey, each, true))
  if ("not" in filter) return scans(survey, filter.not, true)
  if (!("text" in filter) || filter.value === "") return false
  const { text, method, value } = filter
  const own = placeOf(survey, text)
  const place = own ?? placeOf(survey, `${text}_folded`)
  if (!place || place.usual !== undefined) return false
  if (method !== "equals" && method !== "starts_with") return true
  const head = own ? value : method === "equals" ? fold(value) : headOf(value)
  const range = method === "equals" ? exactly(head) : prefixed(head)
  const rows = ledgerOf(survey, place).rows(range)
  return own ? isWithin && survey.total - rows <= survey.few : rows > survey.few
}

/**
 * How the folded form of a text begins that begins with `value`. The last of its plain characters
 * may become another one by what follows, the others fold for themselves.
 */
export const headOf = (value: string): string =>
  (/^[ -~]*/.exec(value)?.[0] ?? "").slice(0, -1).toLowerCase()

/** Texts that are few are found by their keys. */
function wayTo({ texts }: Held, place: IndexPlace, areRaw: boolean): Way | undefined {
  if (!texts) return undefined
  const keys = [...new Set(areRaw ? texts.map(fold) : texts)]
  return wayIn(place, (built) => among(built, place.key, keys))
}
