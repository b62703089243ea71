import { Fault, lateError } from "../../kernel/fault.ts"
import type { Statement, Value } from "../statement.ts"
import type { Plan } from "./plan.ts"
import { cached } from "./statement-cache.ts"

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
}

export type Read<Row> = { readonly total: number; readonly rows: readonly Row[] }

type Queries = {
  readonly [Name in keyof Plan]: Plan[Name] extends string ? Query : Query | undefined
}
type Query = { readonly sql: string; readonly parameters: readonly string[] }

/** What the thread is sent. */
export type ReadRequest =
  | { readonly close: true }
  | (Omit<Reading, "plan"> & { readonly file: string; readonly plan: Queries })

/** An error loses its class on the way between threads, so it is sent as what tells it apart. */
export type ReadAnswer =
  | Read<unknown>
  | { readonly failed: { readonly name: string; readonly code: string; readonly message: string } }

/**
 * A thread that reads the database through a connection of its own, which can't write: no list, and
 * however long it takes, keeps the event loop from answering others.
 */
export type Reader = {
  /** Drops a search whose turn comes when nobody waits for its answer any more. */
  readonly read: <Row>(
    reading: Reading,
    how: { readonly physical: (query: Statement) => string; readonly isLate: () => boolean },
  ) => Promise<Read<Row>>
  /** Resolves when nothing is being read, with what lets those read on who have to wait. */
  readonly pause: () => Promise<() => void>
  readonly close: () => Promise<void>
}

/** In the compiled binary scripts/build.ts puts the worker's entry point below the one bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/reader.ts")
    ? new URL("./reader-worker.ts", import.meta.url)
    : new URL("./store/search/reader-worker.js", import.meta.url)

export const readerThread = () => new Worker(workerUrl().href, { smol: true })

type Ended = { readonly ended: string }

/** The thread is started by the first search, and by the first after its end. */
export function readerOf(file: string, thread = readerThread): Reader {
  let worker: Worker | undefined
  let waiting: PromiseWithResolvers<ReadAnswer | Ended> | undefined
  let last: Promise<void> = Promise.resolve()

  /** One after the other; resolves with what ends this turn. */
  const turn = async () => {
    const before = last
    const { promise, resolve } = Promise.withResolvers<void>()
    last = promise
    await before
    return resolve
  }
  const start = () => {
    const started = thread()
    const ended = (why: string) => {
      if (worker !== started) return
      worker = undefined
      waiting?.resolve({ ended: why })
    }
    started.addEventListener("message", (event: MessageEvent<ReadAnswer>) => {
      waiting?.resolve(event.data)
    })
    started.addEventListener("error", ({ message }) => ended(message))
    started.addEventListener("close", () => ended("closed"))
    return started
  }
  const ask = (request: ReadRequest): Promise<ReadAnswer | Ended> => {
    worker ??= start()
    waiting = Promise.withResolvers()
    worker.postMessage(request)
    return waiting.promise
  }
  return {
    read: async <Row>(reading: Reading, { physical, isLate }: Parameters<Reader["read"]>[1]) => {
      const end = await turn()
      try {
        if (isLate()) throw lateError()
        const request = { ...reading, file, plan: queriesOf(reading.plan, physical) }
        const first = await ask(request)
        // What ended the thread need not be this search.
        const answer = "ended" in first ? await ask(request) : first
        if ("ended" in answer) throw endedError(answer)
        if ("failed" in answer) {
          throw Object.assign(new Error(answer.failed.message), answer.failed)
        }
        // Reason for the cast: a search's Row type is its caller's word about its columns.
        return answer as Read<Row>
      } finally {
        end()
      }
    },
    pause: turn,
    close: async () => {
      const end = await turn()
      if (worker) {
        const { promise, resolve } = Promise.withResolvers<void>()
        worker.addEventListener("close", () => resolve())
        worker.postMessage({ close: true } satisfies ReadRequest)
        worker = undefined
        await promise
      }
      end()
    },
  }
}

const endedError = ({ ended }: Ended) =>
  new Fault(
    "unavailable",
    "search.ended",
    "this search could not be finished; ask for less at once, or try again later",
    { cause: new Error(`the reader thread ended: ${ended}`) },
  )

function queriesOf(plan: Plan, physical: (query: Statement) => string): Queries {
  const query = (sql: string): Query => {
    const statement = cached(sql)
    return { sql: physical(statement), parameters: statement.parameters }
  }
  return {
    keys: query(plan.keys),
    total: query(plan.total),
    few: query(plan.few),
    many: query(plan.many),
    back: plan.back === undefined ? undefined : query(plan.back),
  }
}
