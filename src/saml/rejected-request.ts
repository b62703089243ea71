import type { RegisteredServiceProvider } from "../domain/app/index.ts"
import { storeRefusal } from "../domain/refusal/index.ts"
import { Fault } from "../kernel/fault.ts"
import type { Status } from "../xml/names.ts"
import type { EndpointContext } from "./endpoint/endpoint.ts"

/** The application that sent the message. */
type MessageSender = { readonly appId: string; readonly entityId: string }

const sendersByFault = new WeakMap<Fault, MessageSender>()

/** Runs a check of an application's message; faults are associated with that application. */
export async function checkForApplication<T>(
  { appId, provider: { entityId } }: RegisteredServiceProvider,
  check: () => Promise<T> | T,
): Promise<T> {
  try {
    return await check()
  } catch (cause) {
    if (cause instanceof Fault) sendersByFault.set(cause, { appId, entityId })
    throw cause
  }
}

/** Statuses that are no mistake: an expected step, or a decision of the user. */
const expectedStatuses: ReadonlySet<Status> = new Set<Status>([
  "noPassive",
  "requestDenied",
  "authnFailed",
])

type RejectedMessage = {
  readonly error: string
  readonly description: string
} & Partial<MessageSender>

/**
 * Records a rejected request for the administrator of the application, which the Issuer claims to
 * be. Nothing is recorded for an Issuer that is no application here.
 */
function record({ cx, url, onRejected }: EndpointContext, refused: RejectedMessage): void {
  const { error, description, appId, entityId = "" } = refused
  if (appId === undefined) return
  const shared = { endpoint: url.pathname, error, description, findings: [] }
  onRejected(storeRefusal(cx, { ...shared, clientId: entityId, appId }))
}

/** Records a rejected message whose sender receives no response. */
export const recordFault = (context: EndpointContext, fault: Fault): void =>
  record(context, { error: fault.id, description: fault.message, ...sendersByFault.get(fault) })

/** Records a rejected request whose sender receives a status. */
export function recordStatus(
  context: EndpointContext,
  {
    status,
    why: message,
    ...whose
  }: { readonly status: Status; readonly why: string } & MessageSender,
): void {
  if (!expectedStatuses.has(status))
    record(context, { error: status, description: message, ...whose })
}
