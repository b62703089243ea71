import type { FoundProvider } from "../../domain/app/index.ts"
import { isInNetworks } from "../../domain/app-access/index.ts"
import { addAuthRequest, type Prompt, type Requested } from "../../domain/grant/index.ts"
import {
  askedName,
  browserContextOf,
  lookOrgOf,
  requirementsOf,
  type ShowPage,
  type Step,
  showTrouble,
  stepFor,
  stepPath,
} from "../../login/index.ts"
import { handedId, isTester, loginPageOf, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { fromAddress, fromForm } from "../../xml/binding.ts"
import { refusedError } from "../error.ts"
import { paths } from "../path.ts"
import { ofApplication, recordStatus } from "../refusal.ts"
import {
  checkedRequest,
  formatFor,
  type Refusal,
  relayStateMax,
  requestedOf,
} from "../request/authn-request.ts"
import { backOf, usableProvider } from "../request/back.ts"
import { opened } from "../request/receive.ts"
import { takeTest } from "../request/tested.ts"
import { respond } from "../response/respond.ts"
import { refusalOf, send } from "../response/send.ts"
import { readCarried, writeCarried } from "./carried.ts"
import type { Asking, Endpoint } from "./endpoint.ts"
import { formOf } from "./form.ts"

/** SAML Profiles §4.1: signs somebody in to a service provider. */
export const sso: Endpoint = {
  methods: ["GET", "POST"],
  answer: async (asking) => {
    const { cx, request, url, show } = asking
    if (request.method === "POST")
      return taken(asking, fromForm(await formOf(request), refusedError))
    const carried = url.searchParams.get("carried")
    if (carried !== null) {
      const asked = readCarried(cx, carried)
      return asked ? begin(asking, asked) : showTrouble(show, cx, { problem: "expired" })
    }
    if (url.searchParams.has("request_uri")) return tried(asking)
    if (url.searchParams.has("providerId")) return unasked(asking)
    mustBeShort(url.search)
    return taken(asking, fromAddress(url.search, refusedError))
  },
}

const queryMax = 16_384

function mustBeShort(search: string): void {
  if (search.length > queryMax) throw refusedError("the address is too long; use HTTP-POST")
}

async function taken(asking: Asking, received: ReturnType<typeof fromForm>): Promise<Response> {
  const { cx, request, show } = asking
  if (received?.kind !== "SAMLRequest") throw refusedError("SAMLRequest is missing")
  const message = await opened(cx, received, "AuthnRequest")
  if (!message) return showTrouble(show, cx, { problem: "unknown_application" })
  const check = () => checkedRequest(cx, message, received.relayState)
  const checked = await ofApplication(message.found, check)
  if ("refusal" in checked) return refuse(asking, checked.refusal)
  // A form from another site comes without our cookie (SameSite=Lax); a GET brings it.
  if (request.method === "POST") {
    return redirect(`${paths.sso}?carried=${encodeURIComponent(writeCarried(cx, checked.asked))}`)
  }
  return begin(asking, checked.asked)
}

/** SAML Profiles §4.1.5: a sign-in that begins here; an address names the service provider. */
async function unasked(asking: Asking): Promise<Response> {
  const { cx, url, show } = asking
  const found = await usableProvider(cx, url.searchParams.get("providerId") ?? "")
  if (!found) return showTrouble(show, cx, { problem: "unknown_application" })
  const relayState = (url.searchParams.get("target") ?? "").slice(0, relayStateMax)
  return begin(asking, requestFor(found, { relayState, prompts: [] }))
}

/** The same for a test, which goes as far as a page of ours and sends nothing on. */
async function tried(asking: Asking): Promise<Response> {
  const { cx, request, show, url } = asking
  const found = await usableProvider(cx, url.searchParams.get("providerId") ?? "")
  if (!found) return showTrouble(show, cx, { problem: "unknown_application" })
  const test = await takeTest(cx, url.searchParams.get("request_uri") ?? "", found.appId)
  if (!test) return showTrouble(show, cx, { problem: "expired" })
  const { testedBy, prompts } = test
  if (!isTester(await browserContextOf(cx, request), test)) {
    return showTrouble(show, cx, { problem: "other_tester" })
  }
  return begin(asking, { ...requestFor(found, { relayState: "", prompts }), testedBy })
}

type Begun = { readonly relayState: string; readonly prompts: readonly Prompt[] }

function requestFor(found: FoundProvider, { relayState, prompts }: Begun): Requested {
  const { appId, provider } = found
  const [consumer] = provider.consumers
  if (!consumer) throw refusedError("the registered metadata has no AssertionConsumerService")
  const back = {
    appId,
    entityId: provider.entityId,
    relayState,
    url: consumer.url,
    binding: consumer.binding,
  }
  return requestedOf({ back, nameIdFormat: formatFor(provider), prompts })
}

/** Answers at once where the browser's sessions suffice; else the login pages take over. */
async function begin(asking: Asking, asked: Requested): Promise<Response> {
  const { cx, request } = asking
  const show = shownFor(asking.show, asked)
  const page = asked.testedBy === undefined ? loginPageOf(cx, asked) : undefined
  if (page !== undefined) {
    if (isInNetworks(cx, asked.appId)) return handOver(cx, asked, page)
    // The other page's requests come from elsewhere: where the browser is can only be seen now.
    if (asked.prompts.includes("none")) {
      return refuse(asking, { back: backOf(asked), ...otherNetwork })
    }
    const reason = "error.not_allowed.network"
    return showTrouble(show, cx, { problem: "not_allowed", status: 403, reason })
  }
  const browserContext = await browserContextOf(cx, request)
  const { present, browser } = browserContext
  const beginning = { loginHint: "", created: cx.clock.now(), sessionId: "" }
  const requirements = requirementsOf(cx, asked, beginning)
  const step = stepFor(cx, { asked, requirements }, present)
  const cookies = [browser.setCookie]
  const application = askedName(cx, asked)
  if (step.kind === "done") {
    const ready = { asked, sessionId: step.sessionId }
    return respond(cx, { show, application, cookies }, ready)
  }
  if (asked.prompts.includes("none") || step.kind === "refuse") {
    return refuse(asking, { back: backOf(asked), ...silentRefusal(step) })
  }
  const id = cx.ids.next()
  cx.allowance?.spend("request")
  await cx.store.transactSoon(cx, (tx) =>
    addAuthRequest(tx, id, { asked, agentId: browser.id, loginHint: "" }),
  )
  return redirect(stepPath(step, id), ...cookies)
}

/** A login page of somebody else goes on; it keeps who is signed in there. */
async function handOver(cx: Cx, asked: Requested, page: string): Promise<Response> {
  const id = handedId(cx)
  cx.allowance?.spend("request")
  await cx.store.transact(cx, (tx) => addAuthRequest(tx, id, { asked, agentId: "", loginHint: "" }))
  return redirect(`${page}/login?samlRequest=${encodeURIComponent(id)}`)
}

/** SAML Core §3.4.1, IsPassive: why nobody could be signed in without being asked. */
const silentRefusal = (step: Step): Pick<Refusal, "status" | "message"> =>
  step.kind === "barred"
    ? { status: "requestDenied", message: "who is signed in may not use this application" }
    : { status: "noPassive", message: "nobody is signed in who fits the request" }

const otherNetwork = {
  status: "requestDenied",
  message: "the application can't be used from this network",
} as const satisfies Pick<Refusal, "status" | "message">

function refuse(asking: Asking, { back, status, message }: Refusal): Promise<Response> {
  const { cx, show } = asking
  const { appId, entityId } = back
  recordStatus(asking, { appId, entityId, status, why: message })
  const application = askedName(cx, { clientId: "", appId: back.appId })
  return send(cx, refusalOf(cx, back, status, message), { show, application, cookies: [] })
}

/** Shows pages of a request with the look that it has. */
export const shownFor =
  (show: ShowPage, asked: Requested): ShowPage =>
  (cx, render, options) =>
    show(cx, render, { orgId: lookOrgOf(cx, asked), ...options })
