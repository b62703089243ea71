import { deadlineExceededError, Fault } from "../../kernel/fault.ts"
import type { EventWindow } from "../log/event-window.ts"
import type { Statement } from "../view/statement.ts"
import type { FoundEvents } from "./event/event-search.ts"
import type { Plan } from "./plan.ts"
import type {
  IndexStatus,
  PhysicalPlan,
  Query,
  ReadRequest,
  SearchRequest,
  SearchRows,
  TextTables,
} from "./reader-request.ts"
import { getStatement } from "./statement-cache.ts"
import {
  createThreadClient,
  type readerThread,
  type ThreadClient,
  type ThreadEnded,
} from "./thread.ts"

type Tables = () => TextTables
type ReadOptions = {
  /** The line to wait in; lines take turns. */
  readonly line?: string | undefined
  readonly physical: (query: Statement) => string
  readonly tables: Tables
  readonly isLate: () => boolean
}

/**
 * A thread that reads the database on its own read-only connection: no search blocks the event
 * loop, however long it takes.
 */
export type Reader = {
  /** Runs a search; skips it if its deadline has passed when its turn comes. */
  readonly read: <Row>(reading: SearchRequest, options: ReadOptions) => Promise<SearchRows<Row>>
  /** Finds the positions of events in a window. */
  readonly positions: (window: EventWindow) => Promise<FoundEvents>
  /** Removes erased data from the text index. */
  readonly scrub: (tables: Tables) => Promise<void>
  /** Resolves when nothing is being read; the returned function lets waiting reads continue. */
  readonly pause: () => Promise<() => void>
  /**
   * Ends the thread, which has its own JavaScript engine, once all pending requests are answered. A
   * thread with an index stays. The next request starts a new thread.
   */
  readonly endIdleThread: () => Promise<void>
  readonly close: () => Promise<void>
}

export type ReaderParts = {
  readonly file: string
  /** The name prefix of its index files, if other processes have some, too. */
  readonly own?: string | undefined
  /** Number of rows from which a table gets a text index. */
  readonly rowsMin?: number | undefined
  readonly thread?: typeof readerThread
}

/** In tables of this size, a full scan takes longer than a list should. */
const defaultRowsMin = 50_000

/** The first search starts the thread, also after it has ended. */
export function createReader(parts: ReaderParts): Reader {
  const { file, own = file, rowsMin = defaultRowsMin, thread } = parts
  const location = { file, own, rowsMin }
  const { send, queue, isRunning, close } = createThreadClient(thread)
  let following: Promise<void> | undefined
  let isFollowingEvents = false
  let isClosed = false

  const { asked: sendRequest, goOn: continueIndexing } = createRequester(
    { send, queue },
    () => isClosed,
  )
  const follow = (tables: Tables, purge = false) =>
    continueIndexing(() => ({ ...location, tables: tables(), purge }))
  const followed = (tables: Tables) => {
    following ??= follow(tables).finally(() => {
      following = undefined
    })
  }
  const followEvents = async () => {
    if (isFollowingEvents) return
    isFollowingEvents = true
    await continueIndexing(() => ({ ...location, tables: {}, follows: "events" })).finally(() => {
      isFollowingEvents = false
    })
  }
  return {
    read: async <Row>(reading: SearchRequest, { line, physical, isLate, tables }: ReadOptions) => {
      const end = await queue(line)
      try {
        if (isLate()) throw deadlineExceededError()
        const plan = toPhysicalPlan(reading.plan, physical)
        const request = { ...reading, ...location, tables: tables(), plan }
        const answer = await sendRequest(request)
        if ("isBehind" in answer && answer.isBehind) followed(tables)
        // Reason for the cast: the caller declares the row type of its search.
        const { total, rows, seen } = answer as SearchRows<Row> & IndexStatus
        return { total, rows, seen }
      } finally {
        end()
      }
    },
    positions: async (events) => {
      const end = await queue()
      try {
        // Reason for the cast: the thread answers such requests with these.
        const answer = (await sendRequest({ ...location, tables: {}, events })) as FoundEvents
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
        if (isRunning()) await send({ endIfIdle: true })
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

function createRequester(
  { send, queue }: Pick<ThreadClient, "send" | "queue">,
  isClosed: () => boolean,
) {
  return {
    asked: async (request: ReadRequest) => {
      const firstAnswer = await send(request)
      // Another request may have ended the thread.
      const answer = "ended" in firstAnswer ? await send(request) : firstAnswer
      if ("ended" in answer) throw searchEndedError(answer)
      if ("failed" in answer) {
        throw Object.assign(new Error(answer.failed.message), answer.failed)
      }
      return answer
    },
    /**
     * Lets the thread continue with an index, a few milliseconds at a time, until it is complete.
     */
    goOn: async (request: () => ReadRequest): Promise<void> => {
      for (let isBehind = true; isBehind && !isClosed(); ) {
        const end = await queue()
        try {
          const answer = await send(request())
          isBehind = "isBehind" in answer && answer.isBehind
        } finally {
          end()
        }
      }
    },
  }
}

const searchEndedError = ({ ended }: ThreadEnded) =>
  new Fault(
    "unavailable",
    "search.ended",
    "the search could not be completed; request less at once, or try again later",
    { cause: new Error(`the reader thread ended: ${ended}`) },
  )

function toPhysicalPlan(plan: Plan, physical: (query: Statement) => string): PhysicalPlan {
  const query = (sql: string): Query => {
    const statement = getStatement(sql)
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
