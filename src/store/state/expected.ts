import type { Call } from "../../kernel/context.ts"
import { fieldError, staleEditError } from "../../kernel/fault.ts"
import { streamPartByType } from "../aggregate.ts"
import type { Log, LogEvent } from "../log/log.ts"
import type { TransactionDraft } from "../transaction.ts"

/** Events read at once. Usually only one was added since a user read the resource. */
const eventsPerRead = 100

/** Maximum number of reads, so that an old position in a long history doesn't read all of it. */
const maxReads = 10

/** Throws if the caller's expected version is a position that the log has not reached. */
export async function requireReachedPosition(
  log: Pick<Log, "durable" | "settle">,
  expected: number,
): Promise<void> {
  if (expected <= log.durable()) return
  await log.settle()
  if (expected > log.durable()) throw versionUnknownError()
}

/**
 * Throws `aborted` if a transaction would overwrite a change after the position up to which its
 * caller has read. Only the first stream that it appends to is checked, because the others follow
 * from it; and of that only the changed parts, because a sign-in does not change a profile. Events
 * of the same call are ignored. If too much has happened since, the call is rejected as well,
 * without naming a user.
 */
export async function requireUnchanged(
  log: Pick<Log, "history" | "settle">,
  { instance, requestId }: Pick<Call, "instance" | "requestId">,
  { pending, expected }: Pick<TransactionDraft, "pending"> & { readonly expected: number },
): Promise<void> {
  const first = pending.values().find(({ drafts }) => drafts.length > 0)
  if (first === undefined || first.row.position <= expected) return
  const { stream, part = streamPartByType } = first.kind
  const parts = new Set(first.drafts.map(({ draft }) => part(draft)))
  const isLater = (event: LogEvent) => parts.has(part(event)) && event.correlation !== requestId
  let from = first.row.version + 1
  await log.settle()
  let newest: LogEvent | undefined
  for (let reads = 0; reads < maxReads; reads++) {
    const eventWindow = { instance, stream, id: first.id, from, asc: false, limit: eventsPerRead }
    const events = await log.history(eventWindow)
    const later = events.filter(({ position }) => position > expected)
    const found = later.find(isLater)
    if (found)
      throw staleEditError({ userId: found.editor.user, displayName: "", time: found.time })
    const oldest = events.at(-1)
    if (!oldest || later.length < eventsPerRead) return
    newest ??= events[0]
    from = oldest.version
  }
  throw staleEditError({ userId: "", displayName: "", time: newest?.time ?? 0 })
}

const versionUnknownError = () =>
  fieldError(
    "edit.version_unknown",
    "expected_version",
    "must be the x-core-position of an earlier response of this service",
  )
