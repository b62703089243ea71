import { Fault, lateError } from "../../kernel/fault.ts"
import type { EventWindow } from "../log/event-window.ts"
import type { Statement } from "../view/statement.ts"
import type { FoundEvents } from "./event/event-search.ts"
import type { Plan } from "./plan.ts"
import type {
  Behind,
  Queries,
  Query,
  Read,
  Reading,
  ReadRequest,
  TextTables,
} from "./reader-request.ts"
import { cachedStatement } from "./statement-cache.ts"
import { type Asker, askerOf, type Ended, type readerThread } from "./thread.ts"

type Tables = () => TextTables
type How = {
  /** Whose searches it waits behind; those of others come in turn. */
  readonly line?: string | undefined
  readonly physical: (query: Statement) => string
  readonly tables: Tables
  readonly isLate: () => boolean
}

/**
 * A thread that reads the database through a connection of its own, which can't write: no list, and
 * however long it takes, keeps the event loop from answering others.
 */
export type Reader = {
  /** Drops a search that is reached when nobody waits for its answer any more. */
  readonly read: <Row>(reading: Reading, how: How) => Promise<Read<Row>>
  /** Where some events of a part of the log stand. */
  readonly positions: (window: EventWindow) => Promise<FoundEvents>
  /** Leaves nothing in the index of texts of what has been erased. */
  readonly scrub: (tables: Tables) => Promise<void>
  /** Resolves when nothing is being read, with what lets those read on who have to wait. */
  readonly pause: () => Promise<() => void>
  /**
   * Ends the thread, which has a JavaScript engine of its own, once all waiting requests are
   * answered. A thread that keeps an index stays. The next request starts a new thread.
   */
  readonly endIdleThread: () => Promise<void>
  readonly close: () => Promise<void>
}

export type ReaderParts = {
  readonly file: string
  /** What the files of its indexes are called by, where another process has some, too. */
  readonly own?: string | undefined
  /** From so many rows on a table gets an index of its texts. */
  readonly rowsMin?: number | undefined
  readonly thread?: typeof readerThread
}

/** Where tables are so long, a look at all of their rows takes longer than a list should. */
const usualRowsMin = 50_000

/** The thread is started by the first search, and by the first after its end. */
export function readerOf(parts: ReaderParts): Reader {
  const { file, own = file, rowsMin = usualRowsMin, thread } = parts
  const at = { file, own, rowsMin }
  const { ask, queue, isRunning, close } = askerOf(thread)
  let following: Promise<void> | undefined
  let isFollowingEvents = false
  let isClosed = false

  const { asked, goOn } = askingOf({ ask, queue }, () => isClosed)
  const follow = (tables: Tables, purge = false) => goOn(() => ({ ...at, tables: tables(), purge }))
  const followed = (tables: Tables) => {
    following ??= follow(tables).finally(() => {
      following = undefined
    })
  }
  const followEvents = async () => {
    if (isFollowingEvents) return
    isFollowingEvents = true
    await goOn(() => ({ ...at, tables: {}, follows: "events" })).finally(() => {
      isFollowingEvents = false
    })
  }
  return {
    read: async <Row>(reading: Reading, { line, physical, isLate, tables }: How) => {
      const end = await queue(line)
      try {
        if (isLate()) throw lateError()
        const plan = queriesOf(reading.plan, physical)
        const request = { ...reading, ...at, tables: tables(), plan }
        const answer = await asked(request)
        if ("isBehind" in answer && answer.isBehind) followed(tables)
        // Reason for the cast: a search's Row type is its caller's word about its columns.
        const { total, rows, seen } = answer as Read<Row> & Behind
        return { total, rows, seen }
      } finally {
        end()
      }
    },
    positions: async (events) => {
      const end = await queue()
      try {
        // Reason for the cast: this is what the thread answers to that.
        const answer = (await asked({ ...at, tables: {}, events })) as FoundEvents
        if (answer.isBehind) void followEvents()
        return answer
      } finally {
        end()
      }
    },
    scrub: async (tables) => {
      if (!isRunning()) return
      await following
      await follow(tables, true)
    },
    pause: queue,
    endIdleThread: async () => {
      if (!isRunning()) return
      const end = await queue()
      try {
        if (isRunning()) await ask({ endIfIdle: true })
      } finally {
        end()
      }
    },
    close: () => {
      isClosed = true
      return close()
    },
  }
}

function askingOf({ ask, queue }: Pick<Asker, "ask" | "queue">, isClosed: () => boolean) {
  return {
    asked: async (request: ReadRequest) => {
      const first = await ask(request)
      // What ended the thread need not be this search.
      const answer = "ended" in first ? await ask(request) : first
      if ("ended" in answer) throw endedError(answer)
      if ("failed" in answer) {
        throw Object.assign(new Error(answer.failed.message), answer.failed)
      }
      return answer
    },
    /** Asks the thread to go on with an index, a few milliseconds at a time, until it has all. */
    goOn: async (request: () => ReadRequest): Promise<void> => {
      for (let isBehind = true; isBehind && !isClosed(); ) {
        const end = await queue()
        try {
          const answer = await ask(request())
          isBehind = "isBehind" in answer && answer.isBehind
        } finally {
          end()
        }
      }
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
    const statement = cachedStatement(sql)
    return { sql: physical(statement), parameters: statement.parameters }
  }
  return {
    keys: query(plan.keys),
    total: query(plan.total),
    seen: plan.seen === undefined ? undefined : query(plan.seen),
    taken: plan.taken === undefined ? undefined : query(plan.taken),
    few: query(plan.few),
    many: query(plan.many),
    back: plan.back === undefined ? undefined : query(plan.back),
  }
}
