import type { FoundProvider } from "../domain/app/index.ts"
import { noteRefusal } from "../domain/refusal/index.ts"
import { Fault } from "../kernel/fault.ts"
import type { Status } from "../xml/names.ts"
import type { Asking } from "./endpoint/endpoint.ts"

/** The application whose message it was. */
type Whose = { readonly appId: string; readonly entityId: string }

const known = new WeakMap<Fault, Whose>()

/** Does what may refuse a message of an application; what refuses it is then known to be of it. */
export async function ofApplication<T>(
  { appId, provider: { entityId } }: FoundProvider,
  check: () => Promise<T> | T,
): Promise<T> {
  try {
    return await check()
  } catch (cause) {
    if (cause instanceof Fault) known.set(cause, { appId, entityId })
    throw cause
  }
}

/** What is no mistake of anybody: a step on the way, or what a person decided. */
const ordinary: ReadonlySet<Status> = new Set<Status>(["noPassive", "requestDenied", "authnFailed"])

type Refused = { readonly error: string; readonly description: string } & Partial<Whose>

/**
 * Keeps a request that was refused, for who has set the application up. The Issuer says whose it
 * is, and need not have proved it; of what names no application here nothing is kept, since whoever
 * sends that is no application.
 */
function record({ cx, url, refused: tell }: Asking, refused: Refused): void {
  const { error, description, appId, entityId = "" } = refused
  if (appId === undefined) return
  const shared = { endpoint: url.pathname, error, description, findings: [] }
  tell(noteRefusal(cx, { ...shared, clientId: entityId, appId }))
}

/** Of a message whose sender is told nothing. */
export const recordFault = (asking: Asking, fault: Fault): void =>
  record(asking, { error: fault.id, description: fault.message, ...known.get(fault) })

/** Of a request whose sender is told why. */
export function recordStatus(
  asking: Asking,
  { status, why, ...whose }: { readonly status: Status; readonly why: string } & Whose,
): void {
  if (!ordinary.has(status)) record(asking, { error: status, description: why, ...whose })
}
