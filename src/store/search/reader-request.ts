import type { EventWindow } from "../log/event-window.ts"
import type { TextTable } from "../view/indexes.ts"
import type { Value } from "../view/statement.ts"
import type { FoundEvents } from "./event/event-search.ts"
import type { Plan } from "./plan.ts"
import type { TextCondition } from "./text/text-condition.ts"

/** A search request to the reader thread. */
export type SearchRequest = {
  readonly plan: Plan
  readonly values: Readonly<Record<string, Value>>
  readonly limit: number
  readonly offset: number
  /** Up to this many rows count as few. */
  readonly most: number
  /** The number of matches, if known. */
  readonly total: number | undefined
  /** The number of rows visible to the caller, if known. */
  readonly seen: number | undefined
  /** The conditions that a text index may answer. */
  readonly texts: TextSearch | undefined
}

export type TextSearch = {
  readonly table: string
  readonly conditions: readonly TextCondition[]
  /** Whether the caller can see all rows of the instance. */
  readonly isAll: boolean
  /** Whether the total is the number of all visible rows. */
  readonly isUnfiltered: boolean
}

/** The tables that get a text index once they are large, by name. */
export type TextTables = Readonly<Record<string, TextTable>>

export type SearchRows<Row> = {
  readonly total: number
  readonly rows: readonly Row[]
  /** The number of visible rows, if it had to be counted. */
  readonly seen?: number | undefined
}

export type PhysicalPlan = {
  readonly [Name in keyof Plan]: Plan[Name] extends string ? Query : Query | undefined
}
export type Query = { readonly sql: string; readonly parameters: readonly string[] }

/** A message to the thread. */
export type ReadRequest =
  | { readonly close: true }
  /** Ends the thread, unless it has an index that the next thread would have to build again. */
  | { readonly endIfIdle: true }
  | (IndexSettings & { readonly events: EventWindow })
  | (IndexSettings & { readonly follows: "events" })
  | (IndexSettings & { readonly plan?: undefined; readonly purge: boolean })
  | (IndexSettings & Omit<SearchRequest, "plan"> & { readonly plan: PhysicalPlan })

type IndexSettings = {
  readonly file: string
  /** The name prefix of its index files. */
  readonly own: string
  /** Number of rows from which a table gets a text index. */
  readonly rowsMin: number
  readonly tables: TextTables
}

/** Whether the text index is incomplete. */
export type IndexStatus = { readonly isBehind: boolean }

/** Errors lose their class between threads, so their distinguishing fields are sent. */
export type ReadAnswer =
  | (SearchRows<unknown> & IndexStatus)
  | IndexStatus
  | FoundEvents
  | { readonly failed: { readonly name: string; readonly code: string; readonly message: string } }
