import type { AnyEvent, Calls, Cx, Draft, Reactor, Recorded } from "../../store/index.ts"
import { instance, instanceIds } from "../instance/index.ts"
import { type Milestone, type MilestoneEvent, milestones, reached, reachedId } from "./model.ts"

type Happened = Pick<Recorded<AnyEvent>, "id" | "data">

/** The milestones that an event of a type reaches; what is our own is nobody's work. */
const by: Readonly<Record<string, (cx: Cx, event: Happened) => readonly Milestone[]>> = {
  "instance.added": () => ["instance_created"],
  "project.added": (cx, { id }) => (id === ownOf(cx).projectId ? [] : ["project_created"]),
  "project.application.added": (cx, { data }) =>
    "projectId" in data && data.projectId === ownOf(cx).projectId ? [] : ["application_created"],
  "oidc_session.added": (cx, { data }) =>
    "clientId" in data && data.clientId === ownOf(cx).consoleClientId
      ? ["signed_in"]
      : ["signed_in", "signed_in_to_application"],
}

const ownOf = (cx: Cx) => cx.store.state(cx, instance, cx.instance)

/** Notes how far instances have come; where all have come to the end, no event is read. */
export function milestoneReactor(call: Calls): Reactor {
  const name = "milestones"
  const note = async (event: Recorded<AnyEvent>) => {
    const cx = call(event.instance, name)
    const found = by[event.type]?.(cx, event) ?? []
    await cx.store.transact(cx, (tx) => {
      const known = tx.state(reached, reachedId).reached
      const events = found
        .filter((milestone) => known[milestone] === undefined)
        .map((milestone): Draft<MilestoneEvent> => {
          const data = { milestone, at: event.time }
          return { type: "milestone.reached", data }
        })
      if (events.length > 0) tx.append(reached, reachedId, events)
    })
  }
  return {
    name,
    types: wantedOf(call("", name)),
    on: Object.fromEntries(Object.keys(by).map((type) => [type, note])),
  }
}

/** All of them until every instance has come to the end. */
function wantedOf({ store }: Cx): () => readonly string[] {
  let known: { readonly changes: number; readonly types: readonly string[] } | undefined
  return () => {
    const changes = store.log.changesOf([reached.stream, instance.stream])
    if (known?.changes !== changes) {
      const isOpen = instanceIds(store).some((each) => {
        const state = store.state({ instance: each }, reached, reachedId)
        return milestones.some((milestone) => state.reached[milestone] === undefined)
      })
      known = { changes, types: isOpen ? Object.keys(by) : [] }
    }
    return known.types
  }
}
