import type { EventWindow } from "../log/event-window.ts"
import type { TextTable } from "../view/indexes.ts"
import type { Value } from "../view/statement.ts"
import type { FoundEvents } from "./event/event-search.ts"
import type { Plan } from "./plan.ts"
import type { TextCondition } from "./text/text-condition.ts"

/** A search as the reader thread is asked for it. */
export type Reading = {
  readonly plan: Plan
  readonly values: Readonly<Record<string, Value>>
  readonly limit: number
  readonly offset: number
  /** So many rows are few. */
  readonly most: number
  /** How many rows are found, where that is known already. */
  readonly total: number | undefined
  /** How many rows the caller may see, where that is known already. */
  readonly seen: number | undefined
  /** What an index of texts may know of it. */
  readonly texts: Texts | undefined
}

export type Texts = {
  readonly table: string
  readonly conditions: readonly TextCondition[]
  /** Whether the caller may see all rows of the instance. */
  readonly isAll: boolean
  /** Whether the total is the number of all rows that the caller may see. */
  readonly isUnfiltered: boolean
}

/** By their names, the tables that get an index of texts where they are long. */
export type TextTables = Readonly<Record<string, TextTable>>

export type Read<Row> = {
  readonly total: number
  readonly rows: readonly Row[]
  /** How many rows the caller may see, where that had to be found out. */
  readonly seen?: number | undefined
}

export type Queries = {
  readonly [Name in keyof Plan]: Plan[Name] extends string ? Query : Query | undefined
}
export type Query = { readonly sql: string; readonly parameters: readonly string[] }

/** What the thread is sent. */
export type ReadRequest =
  | { readonly close: true }
  /** Ends the thread unless it has an index, which the next thread would have to make again. */
  | { readonly endIfIdle: true }
  | (Work & { readonly events: EventWindow })
  | (Work & { readonly follows: "events" })
  | (Work & { readonly plan?: undefined; readonly purge: boolean })
  | (Work & Omit<Reading, "plan"> & { readonly plan: Queries })

type Work = {
  readonly file: string
  /** What the files of its indexes are called by. */
  readonly own: string
  /** From so many rows on a table gets an index of its texts. */
  readonly rowsMin: number
  readonly tables: TextTables
}

/** Whether the index of texts lacks something. */
export type Behind = { readonly isBehind: boolean }

/** An error loses its class on the way between threads, so it is sent as what tells it apart. */
export type ReadAnswer =
  | (Read<unknown> & Behind)
  | Behind
  | FoundEvents
  | { readonly failed: { readonly name: string; readonly code: string; readonly message: string } }
