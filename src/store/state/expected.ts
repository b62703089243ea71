import type { Call } from "../../kernel/context.ts"
import { fieldError, staleError } from "../../kernel/fault.ts"
import { partByType } from "../aggregate.ts"
import type { Log, LogEvent } from "../log/log.ts"
import type { Drafting } from "../step.ts"

/** Events that are read at once. Most of what has changed since somebody read it is one. */
const windowMax = 100

/** So many times; who has read nothing of a long history doesn't have all of it read. */
const windowsMax = 10

/** Faults where a caller says to have read up to a position that the log has not reached. */
export async function refuseUnwritten(
  log: Pick<Log, "durable" | "settle">,
  expected: number,
): Promise<void> {
  if (expected <= log.durable()) return
  await log.settle()
  if (expected > log.durable()) throw unwrittenError()
}

/**
 * Faults with `aborted` where a step would replace what has changed after the position up to which
 * its caller has read. Of the streams that it appends to only the one that it writes first counts,
 * for the others follow from it; and of that only the parts that it changes, for a sign-in does not
 * change a profile. What the call itself has appended before does not count. Where too much has
 * happened since, that is refused as well, and no user is named.
 */
export async function refuseStale(
  log: Pick<Log, "history" | "settle">,
  { instance, requestId }: Pick<Call, "instance" | "requestId">,
  { pending, expected }: Pick<Drafting, "pending"> & { readonly expected: number },
): Promise<void> {
  const first = pending.values().find(({ drafts }) => drafts.length > 0)
  if (first === undefined || first.row.position <= expected) return
  const { stream, part = partByType } = first.kind
  const parts = new Set(first.drafts.map(({ draft }) => part(draft)))
  const isLater = (event: LogEvent) => parts.has(part(event)) && event.correlation !== requestId
  let from = first.row.version + 1
  await log.settle()
  let newest: LogEvent | undefined
  for (let windows = 0; windows < windowsMax; windows++) {
    const stretch = { instance, stream, id: first.id, from, asc: false, limit: windowMax }
    const events = await log.history(stretch)
    const later = events.filter(({ position }) => position > expected)
    const found = later.find(isLater)
    if (found) throw staleError({ userId: found.editor.user, displayName: "", time: found.time })
    const oldest = events.at(-1)
    if (!oldest || later.length < windowMax) return
    newest ??= events[0]
    from = oldest.version
  }
  throw staleError({ userId: "", displayName: "", time: newest?.time ?? 0 })
}

const unwrittenError = () =>
  fieldError(
    "edit.version_unknown",
    "expected_version",
    "must be the x-core-position of an answer of this service",
  )
