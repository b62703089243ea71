import type {
  AnyEvent,
  CallFactory,
  Cx,
  Draft,
  PersistedEvent,
  Reactor,
} from "../../store/index.ts"
import { instance, instanceIds } from "../instance/index.ts"
import {
  type Milestone,
  type MilestoneEvent,
  milestones,
  reachedId,
  reachedMilestones,
} from "./model.ts"

type MilestoneCause = Pick<PersistedEvent<AnyEvent>, "id" | "data">

/** The milestones that an event type reaches, excluding actions on the instance's own resources. */
const milestonesByEvent: Readonly<
  Record<string, (cx: Cx, event: MilestoneCause) => readonly Milestone[]>
> = {
  "instance.added": () => ["instance_created"],
  "project.added": (cx, { id }) => (id === instanceOf(cx).projectId ? [] : ["project_created"]),
  "project.application.added": (cx, { data }) =>
    "projectId" in data && data.projectId === instanceOf(cx).projectId
      ? []
      : ["application_created"],
  "oidc_session.added": (cx, { data }) =>
    "clientId" in data && data.clientId === instanceOf(cx).consoleClientId
      ? ["signed_in"]
      : ["signed_in", "signed_in_to_application"],
}

const instanceOf = (cx: Cx) => cx.store.state(cx, instance, cx.instance)

/**
 * Records the milestones of instances. Reads no events once all instances have reached all
 * milestones.
 */
export function milestoneReactor(call: CallFactory): Reactor {
  const name = "milestones"
  const note = async (event: PersistedEvent<AnyEvent>) => {
    const cx = call(event.instance, name)
    const found = milestonesByEvent[event.type]?.(cx, event) ?? []
    await cx.store.transact(cx, (tx) => {
      const known = tx.state(reachedMilestones, reachedId).reached
      const events = found
        .filter((milestone) => known[milestone] === undefined)
        .map((milestone): Draft<MilestoneEvent> => {
          const data = { milestone, at: event.time }
          return { type: "milestone.reached", data }
        })
      if (events.length > 0) tx.append(reachedMilestones, reachedId, events)
    })
  }
  return {
    name,
    types: eventTypesOf(call("", name)),
    on: Object.fromEntries(Object.keys(milestonesByEvent).map((type) => [type, note])),
  }
}

/** All event types until every instance has reached all milestones. */
function eventTypesOf({ store }: Cx): () => readonly string[] {
  let known: { readonly changes: number; readonly types: readonly string[] } | undefined
  return () => {
    const changes = store.log.changesOf([reachedMilestones.stream, instance.stream])
    if (known?.changes !== changes) {
      const isOpen = instanceIds(store).some((each) => {
        const state = store.state({ instance: each }, reachedMilestones, reachedId)
        return milestones.some((milestone) => state.reached[milestone] === undefined)
      })
      known = { changes, types: isOpen ? Object.keys(milestonesByEvent) : [] }
    }
    return known.types
  }
}
