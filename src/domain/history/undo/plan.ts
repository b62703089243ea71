import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { changedKeys, type Field, isSame } from "../difference.ts"
import { allFieldsOf, type Folded, foldings, type Happening, mustBeKept } from "../past.ts"
import type { Place } from "../resource.ts"
import { wordsOfPath } from "../words.ts"
import { wayOf } from "./list.ts"
import { type Asked, type Reason, reasons } from "./way.ts"

/** How a change would be taken back. */
export type Plan = {
  readonly place: Place
  readonly asked: Asked
  /** The organisation that owns what is changed. */
  readonly owner: string
  readonly now: Folded
  /** The last version of the stream that the plan knows of. */
  readonly last: number
  /** What the fields that the change has made others are to be again, as far as that must be so. */
  readonly wanted: ReadonlyMap<string, Field | undefined>
}

/** A change among all of its thing. */
type Found = {
  readonly event: Happening
  readonly before: unknown
  readonly after: unknown
  readonly now: Folded
  readonly last: number
  /** What was said of the same part before, and whether anything was since. */
  readonly earlier: Happening | undefined
  readonly isSaidSince: boolean
}

/** What takes a change back, or why nothing does. */
export async function planOf(cx: Cx, place: Place, version: number): Promise<Plan | Fault> {
  await cx.store.log.settle()
  const found = await find(cx, place, version)
  if (!found) return missingError(version)
  const { event, now, last } = found
  await mustBeKept(cx, { position: event.position })
  const way = wayOf(place.kind, event.type)
  if (way === undefined) throw new Error(`nothing says whether ${event.type} can be undone`)
  if (typeof way === "string") return noUndoError(way)
  const [before, after, current] = [found.before, found.after, now.whole].map((state) =>
    allFieldsOf(place, state),
  )
  if (!before || !after || !current) throw new Error("of three states there are three")
  const keys = changedKeys(before, after)
  const changed = found.isSaidSince ? [""] : keys.filter((key) => !isSame(key, current, after))
  if (changed.length > 0) {
    const isBack = keys.length > 0 && keys.every((key) => isSame(key, current, before))
    return isBack ? unchangedError() : changedSinceError(changed)
  }
  const { id, kind } = place
  const { owner, whole } = { owner: event.owner, whole: now.whole }
  const states = { before: found.before ?? kind.initial, after: found.after, now: whole }
  const past = { cx, id, owner, event, ...states }
  const asked = typeof way === "function" ? way(past) : way.ask(past, found.earlier)
  if (typeof asked === "string") return noUndoError(asked)
  // Of what began with the change nothing is wanted back.
  const isWhole = event.version > 1 && !asked.isLoose
  const wanted = isWhole ? keys.map((key) => [key, before.get(key)] as const) : []
  return { place, asked, owner, now, last, wanted: new Map(wanted) }
}

async function find(cx: Cx, place: Place, version: number): Promise<Found | undefined> {
  let found: Pick<Found, "event" | "before" | "after"> | undefined
  let last: { readonly version: number; readonly now: Folded } | undefined
  let earlier: Happening | undefined
  let isSaidSince = false
  const earlierOf = new Map<string, Happening>()
  for await (const { event, before, after } of foldings(cx, place)) {
    const part = partOf(place, event)
    if (event.version === version) {
      found = { event, before: before.whole, after: after.whole }
      earlier = part === undefined ? undefined : earlierOf.get(part)
    } else if (found && part !== undefined) {
      isSaidSince ||= part === partOf(place, found.event)
    } else if (part !== undefined) earlierOf.set(part, event)
    last = { version: event.version, now: after }
  }
  return found && last && { ...found, last: last.version, now: last.now, earlier, isSaidSince }
}

/**
 * What of a thing an event speaks of, where that is kept in no state: all events of a family, as
 * "user.metadata", name it alike.
 */
function partOf({ kind }: Place, event: Happening): string | undefined {
  const family = event.type.slice(0, event.type.lastIndexOf("."))
  for (const type of Object.keys(kind.evolve)) {
    if (type.slice(0, type.lastIndexOf(".")) !== family) continue
    const way = wayOf(kind, type)
    if (typeof way !== "object") continue
    return JSON.stringify([family, way.part(event.data)])
  }
  return undefined
}

const missingError = (version: number) =>
  new Fault("not_found", "history.change_missing", `there is no change ${version}`)

const noUndoError = (reason: Reason) =>
  new Fault("failed_precondition", `history.undo_${reason}`, `no undo: ${reasons[reason]}`)

export const unchangedError = () =>
  new Fault("failed_precondition", "history.undo_done", "no undo: it is as it was before already")

/** Keys of fields; an empty one is what no field says. */
const changedSinceError = (keys: readonly string[]) =>
  new Fault(
    "aborted",
    "history.changed_since",
    `no undo: ${wordsOfKeys(keys) || "it"} has been changed again since; undo that first`,
  )

/** A few of the fields by name. */
export const wordsOfKeys = (keys: readonly string[]): string =>
  keys
    .slice(0, 5)
    .map((key) => (key === "" ? "" : wordsOfPath({ languages: [] }, pathOf(key))))
    .filter(Boolean)
    .join(", ")

function pathOf(key: string): readonly string[] {
  const path: unknown = JSON.parse(key)
  return Array.isArray(path) ? path.map(String) : []
}
