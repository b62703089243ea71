import { serviceProviderOf } from "../../domain/app/index.ts"
import {
  type Afterwards,
  addSamlLogout,
  noteTold,
  type SamlLogout,
  samlLogout,
  samlLogoutPath,
  type Untold,
  untoldOf,
} from "../../domain/grant/index.ts"
import { endSession } from "../../domain/session/index.ts"
import { fromAddress, fromForm, type Received } from "../../kernel/saml/binding.ts"
import { type Status, statuses } from "../../kernel/saml/names.ts"
import { attributeOf, childOf } from "../../kernel/saml/read.ts"
import { element } from "../../kernel/saml/write.ts"
import { askedName, showTrouble } from "../../login/index.ts"
import { logoutFrames, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { reading, refusedError } from "../error.ts"
import { logoutServiceOf, meantBy, mustBeCurrent } from "../logout/request.ts"
import { selfOf } from "../path.ts"
import { opened } from "../request/receive.ts"
import { message, statusOf } from "../response/message.ts"
import { nameIdElement } from "../response/name-id.ts"
import { send, type Way } from "../response/send.ts"
import type { Asking, Endpoint } from "./endpoint.ts"
import { formOf } from "./form.ts"

/** SAML Profiles §4.4: the end of a session, whoever begins it. */
export const slo: Endpoint = {
  methods: ["GET", "POST"],
  answer: async (asking) => {
    const { request, url } = asking
    const id = url.searchParams.get("logout")
    if (request.method === "GET" && id !== null) return goOn(asking, id)
    const received =
      request.method === "POST"
        ? fromForm(await formOf(request), refusedError)
        : fromAddress(url.search, refusedError)
    if (!received) throw refusedError("SAMLRequest or SAMLResponse is missing")
    return received.kind === "SAMLRequest" ? asked(asking, received) : answered(asking, received)
  },
}

/** An application wants a session to end: with it everything ends that hangs from it. */
async function asked(asking: Asking, received: Received): Promise<Response> {
  const { cx, request, show } = asking
  const message = await opened(cx, received, "LogoutRequest")
  if (!message) return showTrouble(show, cx, { problem: "unknown_application" })
  const { found, root } = message
  mustBeCurrent(cx, root)
  const service = logoutServiceOf(found)
  if (!service) throw refusedError("the registered metadata has no SingleLogoutService")
  const { appId } = found
  const afterwards: Afterwards = {
    ...{ kind: "response", appId, url: service.responseUrl, binding: service.binding },
    ...{ requestId: attributeOf(root, "ID") ?? "", relayState: received.relayState },
  }
  const meant = await meantBy(cx, message, request)
  if ("status" in meant) return respond(asking, afterwards, meant.status)
  const { sessions } = meant
  const untold = untoldOf(cx, sessions).filter((each) => each.appId !== appId)
  const frames = logoutFrames(cx, sessions)
  const isAlone = untold.length === 0 && frames.length === 0
  const step = await cx.store.transact(cx, (tx) => {
    for (const id of sessions) endSession(tx, id)
    return isAlone ? undefined : addSamlLogout(tx, cx, { untold, afterwards })
  })
  if (step.value === undefined) return respond(asking, afterwards, "success")
  const next = samlLogoutPath(step.value)
  if (frames.length === 0) return redirect(next)
  return show(cx, (ui, shared) => ui.SigningOutPage({ ...shared, frames, continueHref: next }), {
    frames,
    continueTo: next,
  })
}

/** An application has answered that it knows; or that it could not end the session. */
async function answered(asking: Asking, received: Received): Promise<Response> {
  const { cx, show } = asking
  const message = await opened(cx, received, "LogoutResponse")
  if (!message) return showTrouble(show, cx, { problem: "unknown_application" })
  const { root, found, isSigned } = message
  // SAML Profiles §4.4.4.2. Who has no key to sign with names what it alone was asked.
  if (!isSigned && found.provider.signingKeys.length > 0) {
    throw refusedError("the registered metadata has a key, and the LogoutResponse is not signed")
  }
  mustBeCurrent(cx, root)
  const { id, logout } = openLogout(cx, attributeOf(root, "InResponseTo") ?? "")
  const [first] = logout.untold
  // What was not asked is no answer; and each asks once.
  if (first?.appId !== found.appId) throw refusedError("InResponseTo names no request of ours")
  const status = childOf(root, ["samlp", "Status"], reading)
  const code = status && childOf(status, ["samlp", "StatusCode"], reading)
  const isDone = attributeOf(code, "Value") === statuses.success
  await cx.store.transact(cx, (tx) => noteTold(tx, id, found.appId, isDone))
  return goOn(asking, id)
}

type Open = Extract<SamlLogout, { status: "open" }>

/** The sign-out that a message of ours belongs to. */
function openLogout(cx: Cx, messageId: string): { readonly id: string; readonly logout: Open } {
  const [, sealed = ""] = /^_(.*)$/.exec(messageId) ?? []
  const [id = "", left = ""] = (cx.secrets.open("token", sealed, aboutOf(cx)) ?? "").split(" ")
  const logout = cx.store.state(cx, samlLogout, id)
  if (logout.status === "open" && left === String(logout.untold.length)) return { id, logout }
  throw refusedError("InResponseTo names no request of ours")
}

/**
 * The ID of the message that is sent next (SAML Core §1.3.4). It is sealed: who is told learns
 * neither what others are told, nor how to answer for them.
 */
const messageIdOf = (cx: Cx, id: string, { untold }: Open): string =>
  `_${cx.secrets.seal("token", `${id} ${untold.length}`, aboutOf(cx))}`

const aboutOf = (cx: Cx) => `saml_logout/${cx.instance}`

/** Has the next one told; when there is none left, ends where it was to end. */
async function goOn(asking: Asking, id: string): Promise<Response> {
  const { cx, show } = asking
  const logout = cx.store.state(cx, samlLogout, id)
  if (logout.status !== "open") return showTrouble(show, cx, { problem: "expired" })
  const [next] = logout.untold
  if (!next) {
    const { afterwards, isComplete } = logout
    return afterwards.kind === "location"
      ? redirect(afterwards.url)
      : respond(asking, afterwards, isComplete ? "success" : "partialLogout")
  }
  const way = await requestTo(cx, next, messageIdOf(cx, id, logout))
  if (!way) {
    await cx.store.transact(cx, (tx) => noteTold(tx, id, next.appId, false))
    return goOn(asking, id)
  }
  const application = askedName(cx, { clientId: "", appId: next.appId })
  return send(cx, way, { show, application, cookies: [] })
}

const minute = 60_000

/** SAML Core §3.7.1; undefined for who takes no such request. */
async function requestTo(cx: Cx, untold: Untold, id: string): Promise<Way | undefined> {
  const found = await serviceProviderOf(cx, untold.appId)
  const service = found && logoutServiceOf(found)
  if (!service) return undefined
  const { url, binding } = service
  const self = selfOf(cx).entityId
  const node = message(
    cx,
    "samlp:LogoutRequest",
    { destination: url },
    nameIdElement(untold, { self, entityId: found.provider.entityId }),
    element("samlp:SessionIndex", {}, untold.sessionId),
  )
  const NotOnOrAfter = new Date(cx.clock.now() + 5 * minute).toISOString()
  const attributes = { ...node.attributes, ID: id, NotOnOrAfter }
  return { kind: "SAMLRequest", node: { ...node, attributes }, url, binding, relayState: "" }
}

/** SAML Core §3.7.3. */
function respond(
  { cx, show }: Asking,
  to: Extract<Afterwards, { kind: "response" }>,
  status: Status,
): Promise<Response> {
  const { appId, url, binding, requestId: inResponseTo, relayState } = to
  const node = message(
    cx,
    "samlp:LogoutResponse",
    { destination: url, inResponseTo },
    statusOf(status),
  )
  const application = askedName(cx, { clientId: "", appId })
  const way: Way = { kind: "SAMLResponse", node, url, binding, relayState }
  return send(cx, way, { show, application, cookies: [] })
}
