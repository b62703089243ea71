import {
  allowRequest,
  authRequest,
  failRequest,
  type HandedRequest,
  handedRequest,
  type Requested,
} from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { requirementsOf } from "../../login/index.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { answerFields, joined } from "../authorize/answer.ts"
import { goneSince } from "../authorize/client.ts"
import { complete } from "../authorize/complete.ts"
import { isStranger } from "../authorize/stranger.ts"
import { writePosted } from "./posted.ts"
import { type NamedSession, provenBy } from "./proven.ts"
import { mustBeDone } from "./step.ts"

/** Where a login page sends the browser, and where the request stands then. */
export type Called = { readonly url: string; readonly receipt: Receipt }

/**
 * The request that a login page is asked for, in the protocol that it came by. Refuses one of ours,
 * and one that is over.
 */
export function requireHanded(
  cx: Cx,
  id: string,
  protocol: "oidc" | "saml" = "oidc",
): HandedRequest {
  const request = handedRequest(cx, id)
  if (!request || (request.asked.saml !== undefined) !== (protocol === "saml")) {
    throw new Fault(
      "not_found",
      "auth_request.missing",
      "there is no such request, or it is over; go back to the application and start again",
    )
  }
  return request
}

/** Answers a request with the person of a session, once. */
export async function callbackWith(cx: Cx, id: string, named: NamedSession): Promise<Called> {
  const { asked, ...rest } = requireHanded(cx, id)
  mustBeThere(cx, asked)
  const session = provenBy(cx, named)
  const requirements = requirementsOf(cx, asked, { ...rest, sessionId: session.id })
  const { isConsented } = mustBeDone(cx, { asked, requirements, session })
  if (isConsented) await allowRequest(cx, id, session.id)
  const fields = await complete(cx, { id, asked, sessionId: session.id })
  if (!fields) throw new Fault("failed_precondition", "session.unproven", "the session has ended")
  return called(cx, id, { asked, fields })
}

/** Answers a request with an error, once. */
export async function callbackError(cx: Cx, id: string, fields: Fields): Promise<Called> {
  const { asked } = requireHanded(cx, id)
  mustBeThere(cx, asked)
  await cx.store.transact(cx, (tx) => failRequest(tx, id, fields.error ?? ""))
  return called(cx, id, { asked, fields })
}

type Fields = Readonly<Record<string, string>>

function called(
  cx: Cx,
  id: string,
  { asked, fields }: { readonly asked: Requested; readonly fields: Fields },
): Called {
  const receipt = cx.store.receipt(cx, authRequest, id)
  if (!receipt) throw new Error("a request was answered that is not there")
  const isPosted = asked.responseMode === "form_post" || isRefusedStranger(cx, asked, fields)
  const url = isPosted
    ? writePosted(cx, { asked, fields })
    : joined(asked, answerFields(cx, asked, fields))
  return { url, receipt }
}

/** A page of ours asks the person first, by who is signed in there; see `isStranger`. */
const isRefusedStranger = (cx: Cx, { appId, redirectUri: uri }: Requested, fields: Fields) =>
  fields.error !== undefined && isStranger(cx, { appId, uri, here: [] })

/** Nobody is sent where an administrator has taken the address away meanwhile. */
export function mustBeThere(cx: Cx, asked: Requested): void {
  if (!goneSince(cx, asked)) return
  throw new Fault(
    "failed_precondition",
    "auth_request.application_gone",
    "the application, or the address that it wanted the answer at, is not there any more",
  )
}
