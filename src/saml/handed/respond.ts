import { authRequest, failRequest, type Requested } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { requirementsOf } from "../../login/index.ts"
import { mustBeDone, type NamedSession, provenBy, requireHanded } from "../../oauth/index.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import type { Status } from "../../xml/names.ts"
import { backOf, isGone } from "../request/back.ts"
import { complete } from "../response/complete.ts"
import { refusalOf, type Sending, sendingOf, type Way } from "../response/send.ts"

/** What a login page has the browser do, and where the request stands then. */
export type Responded = { readonly sending: Sending; readonly receipt: Receipt }

/** Answers a request with the person of a session, once. */
export async function respondWith(cx: Cx, id: string, named: NamedSession): Promise<Responded> {
  const { asked, ...rest } = requireHanded(cx, id, "saml")
  await mustBeThere(cx, asked)
  const session = provenBy(cx, named)
  const requirements = requirementsOf(cx, asked, { ...rest, sessionId: session.id })
  mustBeDone(cx, { asked, requirements, session })
  const way = await complete(cx, { id, asked, sessionId: session.id })
  if (!way) throw new Fault("failed_precondition", "session.unproven", "the session has ended")
  return responded(cx, id, way)
}

/** Answers a request with an error, once. */
export async function respondError(
  cx: Cx,
  id: string,
  { status, why }: { readonly status: Status; readonly why: string },
): Promise<Responded> {
  const { asked } = requireHanded(cx, id, "saml")
  await mustBeThere(cx, asked)
  await cx.store.transact(cx, (tx) => failRequest(tx, id, status))
  return responded(cx, id, refusalOf(cx, backOf(asked), status, why))
}

async function responded(cx: Cx, id: string, way: Way): Promise<Responded> {
  const receipt = cx.store.receipt(cx, authRequest, id)
  if (!receipt) throw new Error("a request was answered that is not there")
  return { sending: await sendingOf(cx, way), receipt }
}

/** Nobody is sent where an administrator has taken the address away meanwhile. */
async function mustBeThere(cx: Cx, asked: Requested): Promise<void> {
  if (!(await isGone(cx, asked))) return
  throw new Fault(
    "failed_precondition",
    "auth_request.application_gone",
    "the application, or the address that it wanted the answer at, is not there any more",
  )
}
