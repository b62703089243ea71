import { namesOf } from "../../../kernel/event/name.ts"
import type { Presented } from "../../../kernel/event/subject.ts"
import { lru } from "../../../kernel/lru.ts"
import type { AnyEvent, Calls, Cx, Reactor, Recorded } from "../../../store/index.ts"
import { runChain } from "../call/chain.ts"
import { conditionsOfEvent, typesOf } from "../condition.ts"
import { execution } from "../model.ts"
import { presenterOf } from "../presented.ts"
import { eventConditions, planOf } from "../view.ts"

/** How many events are told at once: a target that is slow holds up few others. */
const parallel = 16
/** Of so many events it is remembered whom they have been told; the others are told again. */
const rememberedMax = 1000

/**
 * Tells targets of events, at least once each: what kept one back is tried again, ever more seldom.
 * Where nobody wants to be told of any, no event is read.
 */
export function targetReactor(call: Calls): Reactor {
  const name = "targets"
  const system = call("", name)
  const { types } = system.store.eventTypes()
  const done = lru<ReadonlySet<string>>(rememberedMax)
  const tell = async (event: Recorded<AnyEvent>, key: string) => {
    const before = done.get(key) ?? new Set()
    const { reached, errors } = await tellOf(call(event.instance, name), event, { key, before })
    done.set(key, new Set([...before, ...reached]))
    if (errors.length > 0) throw new Error(errors.join("; "))
    done.delete(key)
  }
  return {
    name,
    from: "now",
    parallel,
    types: wantedOf(system, types),
    on: Object.fromEntries(types.map((type) => [type, tell])),
  }
}

/** The types of events that anybody wants to be told of; found anew where executions changed. */
function wantedOf(cx: Cx, types: readonly string[]): () => readonly string[] {
  let known: { readonly changes: number; readonly types: readonly string[] } | undefined
  return () => {
    const changes = cx.store.log.changesOf([execution.stream])
    if (known?.changes !== changes) {
      const wanted = eventConditions(cx).flatMap((id) => typesOf(id, types))
      known = { changes, types: [...new Set(wanted)] }
    }
    return known.types
  }
}

type Telling = { readonly key: string; readonly before: ReadonlySet<string> }

/** Tells whom the event has not reached yet; each is told, whatever others do. */
async function tellOf(cx: Cx, event: Recorded<AnyEvent>, { key, before }: Telling) {
  const plan = planOf(cx)
  const condition = conditionsOfEvent(namesOf(event)).find((each) => plan.has(each))
  const ids = condition === undefined ? [] : (plan.get(condition) ?? [])
  if (ids.length === 0) return { reached: [], errors: [] }
  const presented = await presenterOf(cx)(event)
  const reached: string[] = []
  const errors: string[] = []
  for (const id of ids.filter((each) => !before.has(each))) {
    const chain = { condition: condition ?? "", key, payload: () => shownEvent(event, presented) }
    const ended = await tellOne(cx, id, chain)
    if (ended.length === 0) reached.push(id)
    errors.push(...ended)
  }
  return { reached, errors }
}

/** What went wrong with one; its turn does not end before it has been told. */
async function tellOne(
  cx: Cx,
  id: string,
  chain: { readonly condition: string; readonly key: string; readonly payload: () => object },
): Promise<readonly string[]> {
  const { errors, loose } = await runChain(cx, [id], undefined, { ...chain, waitMs })
  await Promise.all(loose)
  return errors
}

/** Nobody waits for what is told, but the next that is. */
const waitMs = 30_000

/** An event as targets are told it; the names are the interface's. Nothing private is in it. */
const shownEvent = (event: Recorded<AnyEvent>, presented: Presented) => ({
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
