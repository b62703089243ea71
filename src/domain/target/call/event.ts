import { namesOf } from "../../../kernel/event/name.ts"
import type { PresentedEvent } from "../../../kernel/event/subject.ts"
import { lru } from "../../../kernel/lru.ts"
import type { AnyEvent, CallFactory, Cx, PersistedEvent, Reactor } from "../../../store/index.ts"
import { conditionsOfEvent, matchingEventTypes } from "../condition.ts"
import { createPresenter } from "../event-presenter.ts"
import { execution } from "../model.ts"
import { eventConditions, targetsByCondition } from "../view.ts"
import { runChain } from "./chain.ts"

/**
 * The number of events that are processed concurrently, so that a slow target delays few others.
 */
const concurrentEventsMax = 16
/** The number of events whose notified targets are remembered; others are sent again. */
const rememberedMax = 1000

/**
 * Sends events to targets, at least once. Failed events are retried at increasing intervals. Reads
 * no events if no target is set for any.
 */
export function targetReactor(call: CallFactory): Reactor {
  const name = "targets"
  const system = call("", name)
  const { types } = system.store.eventTypes()
  const done = lru<ReadonlySet<string>>(rememberedMax)
  const deliver = async (event: PersistedEvent<AnyEvent>, key: string) => {
    const before = done.get(key) ?? new Set()
    const { reached, errors } = await deliverEvent(call(event.instance, name), event, {
      key,
      before,
    })
    done.set(key, new Set([...before, ...reached]))
    if (errors.length > 0) throw new Error(errors.join("; "))
    done.delete(key)
  }
  return {
    name,
    from: "now",
    parallel: concurrentEventsMax,
    types: eventTypesOf(system, types),
    on: Object.fromEntries(types.map((type) => [type, deliver])),
  }
}

/** The event types for which targets are set; updated when executions change. */
function eventTypesOf(cx: Cx, types: readonly string[]): () => readonly string[] {
  let known: { readonly changes: number; readonly types: readonly string[] } | undefined
  return () => {
    const changes = cx.store.log.changesOf([execution.stream])
    if (known?.changes !== changes) {
      const requested = eventConditions(cx).flatMap((id) => matchingEventTypes(id, types))
      known = { changes, types: [...new Set(requested)] }
    }
    return known.types
  }
}

type EventDelivery = { readonly key: string; readonly before: ReadonlySet<string> }

/**
 * Sends an event to the targets that have not received it yet, regardless of failures of others.
 */
async function deliverEvent(
  cx: Cx,
  event: PersistedEvent<AnyEvent>,
  { key, before }: EventDelivery,
) {
  const plan = targetsByCondition(cx)
  const condition = conditionsOfEvent(namesOf(event)).find((each) => plan.has(each))
  const ids = condition === undefined ? [] : (plan.get(condition) ?? [])
  if (ids.length === 0) return { reached: [], errors: [] }
  const presented = await createPresenter(cx)(event)
  const reached: string[] = []
  const errors: string[] = []
  for (const id of ids.filter((each) => !before.has(each))) {
    const chain = {
      condition: condition ?? "",
      key,
      payload: () => eventForTargets(event, presented),
    }
    const ended = await callOne(cx, id, chain)
    if (ended.length === 0) reached.push(id)
    errors.push(...ended)
  }
  return { reached, errors }
}

/** Returns the error of one target after its call is complete. */
async function callOne(
  cx: Cx,
  id: string,
  chain: { readonly condition: string; readonly key: string; readonly payload: () => object },
): Promise<readonly string[]> {
  const { errors, unawaited } = await runChain(cx, [id], undefined, { ...chain, waitMs })
  await Promise.all(unawaited)
  return errors
}

/** Only the next event waits for the call. */
const waitMs = 30_000

/** An event as targets receive it, with the names of the API and without private data. */
const eventForTargets = (event: PersistedEvent<AnyEvent>, presented: PresentedEvent) => ({
  aggregateID: presented.aggregateId,
  aggregateType: presented.aggregateType,
  resourceOwner: event.owner,
  instanceID: event.instance,
  version: `v${event.revision}`,
  sequence: event.position,
  event_type: presented.type,
  created_at: new Date(event.time).toISOString(),
  userID: event.editor.user,
  event_payload: presented.payload,
})
