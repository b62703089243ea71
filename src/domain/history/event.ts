import { Fault } from "../../kernel/fault.ts"
import {
  type AnyEvent,
  type Cx,
  type EventFilter,
  type FailedEvent,
  failedEvents,
  type Recorded,
  removeFailedEvent,
  retryFailedEvents,
} from "../../store/index.ts"
import { app } from "../app/index.ts"
import { group } from "../group/index.ts"
import { org } from "../org/index.ts"
import { project } from "../project/index.ts"
import { presenterOf, target } from "../target/index.ts"
import { type EventSearch, matchingEvents } from "./event-search.ts"
import { type Editor, editorsOf, keptSince, type Part } from "./query.ts"

/** One thing that happened on the instance. Secrets and personal data are not in it. */
export type Happened = {
  readonly position: number
  readonly time: number
  readonly type: string
  readonly stream: string
  readonly id: string
  readonly owner: string
  readonly data: object
  readonly editor: Editor
  /** The client by which they did it. */
  readonly client: string
}

/** An event under the aggregate and type of the interface, and what it is stored as. */
export type PresentedEvent = Happened & {
  /** What it happened to is called; empty for users, and for what has no name. */
  readonly name: string
  readonly stored: { readonly type: string; readonly stream: string }
}

/**
 * Events of the instance as they are stored; `from` is a position. Where the instance has a limit
 * for that, only newer ones.
 */
export async function storedEventsOf(cx: Cx, part: Part): Promise<readonly Happened[]> {
  const named = editorsOf(cx)
  return (await eventsIn(cx, {}, part)).map((event) => happened(event, named))
}

/**
 * The same as the interface presents them, of those that match. Types, aggregate types and the ID
 * of the aggregate match as they are presented and as they are stored.
 */
export async function eventsOf(
  cx: Cx,
  search: EventSearch,
  part: Part,
): Promise<readonly PresentedEvent[]> {
  const named = editorsOf(cx)
  const present = presenterOf(cx)
  const find = (filter: EventFilter, some: Part) => eventsIn(cx, filter, some)
  const found = await matchingEvents(cx, { search, part, find, present })
  return Promise.all(
    found.map(async (event) => {
      const { type, stream } = event
      const { aggregateType, aggregateId, payload, type: presented } = await present(event)
      const isItself = aggregateId === event.id
      return {
        ...happened(event, named),
        ...{ type: presented, stream: aggregateType, id: aggregateId, data: payload },
        name: nameOf(cx, isItself ? stream : aggregateType, aggregateId),
        stored: { type, stream },
      }
    }),
  )
}

/** What a thing is called today, or was called last; users are personal data, and named nowhere. */
function nameOf(cx: Cx, stream: string, id: string): string {
  const state = states[stream]?.(cx, id) ?? {}
  return "name" in state && typeof state.name === "string" ? state.name : ""
}

/** What has a name that is no personal data, by its stream. */
const states: Readonly<Record<string, (cx: Cx, id: string) => object>> = {
  [org.stream]: (cx, id) => cx.store.state(cx, org, id),
  [project.stream]: (cx, id) => cx.store.state(cx, project, id),
  [app.stream]: (cx, id) => cx.store.state(cx, app, id),
  [group.stream]: (cx, id) => cx.store.state(cx, group, id),
  [target.stream]: (cx, id) => cx.store.state(cx, target, id),
}

async function eventsIn(cx: Cx, filter: EventFilter, part: Part) {
  const since = Math.max(filter.since ?? 0, keptSince(cx) ?? 0)
  return cx.store.events(cx, { ...filter, ...part, since: since || undefined })
}

function happened(event: Recorded<AnyEvent>, named: (id: string) => Editor): Happened {
  const { position, time, type, stream, id, owner, data, editor } = event
  return {
    ...{ position, time, type, stream, id, owner, data },
    ...{ editor: named(editor.user), client: editor.client },
  }
}

/** All databases are one: what the interface calls so has this name. */
export const databaseName = "latchkey"

type Failed = {
  readonly database: string
  readonly viewName: string
  readonly failedSequence: bigint
}

/**
 * Takes a failed event off the list; of any instance, unless one is named. Faults with `not_found`
 * where it isn't on it.
 */
export async function removeFailed(
  { store }: Pick<Cx, "store">,
  { database, viewName, failedSequence }: Failed,
  instance?: string,
): Promise<void> {
  const isIt = ({ reactor, position }: FailedEvent) =>
    database === databaseName && reactor === viewName && BigInt(position) === failedSequence
  const found = failedEvents(store, instance).find(isIt)
  if (!found) throw failedMissingError({ database, viewName, failedSequence })
  await removeFailedEvent(store, found.reactor, found.position)
}

/**
 * Has one failed event tried again, or all where none is named, and answers how many; of any
 * instance, unless one is named. Faults with `not_found` where the one isn't on the list.
 */
export async function retryFailed(
  { store }: Pick<Cx, "store">,
  { viewName, failedSequence }: Pick<Failed, "viewName" | "failedSequence">,
  instance?: string,
): Promise<number> {
  const position = failedSequence === 0n ? undefined : Number(failedSequence)
  const count = await retryFailedEvents(store, {
    ...{ instance, position },
    reactor: viewName || undefined,
  })
  const isOne = position !== undefined
  if (isOne && count === 0) {
    throw failedMissingError({ database: databaseName, viewName, failedSequence })
  }
  return count
}

const failedMissingError = ({ database, viewName, failedSequence }: Failed) =>
  new Fault(
    "not_found",
    "event.failed_missing",
    `${database} has no failed event ${failedSequence} of ${viewName}`,
  )
