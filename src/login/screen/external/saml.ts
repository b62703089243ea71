import {
  broughtIntent,
  failIntent,
  finishSaml,
  idpById,
  noteBrought,
  openIntent,
  type SamlPart,
  samlMetadata,
  signOnForm,
  succeedIntent,
} from "../../../domain/idp/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { formWithin } from "../../../protocol/body.ts"
import { fromForm } from "../../../xml/binding.ts"
import { responseSize } from "../../../xml/read.ts"
import type { PageContext } from "../../context.ts"
import { askedOfExternal } from "../../entered/script.ts"
import { goTo } from "../../form.ts"
import type { ProviderProblem } from "../../look/fault-text.ts"
import { trouble, troublePage } from "../../trouble.ts"
import { failed, problemOf, proceed, reasonOf, showFailed, tellElsewhere } from "./outcome.ts"
import { recordRefusedAnswer } from "./refused-answer.ts"

/** A message in base64 is a third larger than it is; some signs of that are written as three. */
const formMax = { bytes: 720_000, parameters: 20 }

/** What others may keep without asking again. */
const keptSeconds = 3600

type Addressed = { readonly id: string; readonly part: SamlPart }

/** Serves the addresses that a provider which speaks SAML has of us. */
export async function takeSaml(
  pageContext: PageContext,
  { id, part }: Addressed,
): Promise<Response> {
  const { method } = pageContext.request
  if (part === "metadata" && method !== "POST") return showMetadata(pageContext, id)
  if (part === "start" && method !== "POST") return start(pageContext, id)
  if (part !== "acs") return trouble(pageContext, { problem: "not_found", status: 404 })
  return method === "POST" ? take(pageContext, id) : takeUp(pageContext, id)
}

async function showMetadata(pageContext: PageContext, id: string): Promise<Response> {
  const { cx } = pageContext
  const found = idpById(cx, id)
  if (found?.idp.settings.kind !== "saml") {
    return trouble(pageContext, { problem: "not_found", status: 404 })
  }
  return new Response(await samlMetadata(cx, found), {
    headers: {
      "content-type": "application/samlmetadata+xml",
      "cache-control": `public, max-age=${keptSeconds}`,
    },
  })
}

/** A page that posts our request, for a provider that wants a form (SAML Bindings §3.5). */
async function start(pageContext: PageContext, id: string): Promise<Response> {
  const { cx, request, show } = pageContext
  const state = new URL(request.url).searchParams.get("state") ?? ""
  const open = openIntent(cx, state)
  const found = open?.idpId === id ? idpById(cx, id) : undefined
  if (!open || !found) return trouble(pageContext, { problem: "expired" })
  try {
    const { url, fields } = await signOnForm(cx, found, { state, kept: open.kept })
    const provider = found.idp.name
    return await show(
      cx,
      (ui, shared) => ui.FormPostPage({ ...shared, action: url, fields, provider }),
      { postsElsewhere: true, orgId: found.place },
    )
  } catch (cause) {
    return failed(pageContext, cause)
  }
}

/**
 * What a provider has a form bring, which comes without our cookie. It is checked at once and once;
 * whoever has begun it then takes it up by an address, to which the browser brings the cookie.
 */
async function take(pageContext: PageContext, id: string): Promise<Response> {
  const { cx, request } = pageContext
  const { pathname } = new URL(request.url)
  const form = await formWithin(request, formMax)
  const received = typeof form === "string" ? undefined : receivedIn(form)
  if (received?.kind !== "SAMLResponse") {
    return troublePage(pageContext, { problem: "invalid_request" })
  }
  const open = openIntent(cx, received.relayState)
  const found = open?.idpId === id ? idpById(cx, id) : undefined
  if (!open || !found) return goTo(`${pathname}?trouble=expired`)
  // To look at one costs more than to make one up.
  cx.allowance?.spend("client")
  try {
    const { kept, agentId } = open
    // A login page of somebody else is told the assertion; ours needs what it says.
    const given = { xml: received.xml, kept, withAssertion: agentId === "" }
    const answered = await finishSaml(cx, found, given)
    cx.allowance?.refund("client")
    if (open.agentId === "") {
      const token = await succeedIntent(cx, open.id, answered)
      return tellElsewhere(cx, open, { token, answered })
    }
    await noteBrought(cx, open.id, answered)
    return goTo(`${pathname}?intent=${open.id}`)
  } catch (cause) {
    const error = reasonOf(cause)
    await failIntent(cx, open.id, error)
    recordRefusedAnswer(cx, found.idp, { endpoint: pathname, cause })
    const problem = problemOf(cx, cause)
    if (open.agentId === "") return tellElsewhere(cx, open, { error })
    return goTo(`${pathname}?trouble=${problem}`)
  }
}

/** The browser goes on by itself: with what was brought, or to the page that says why not. */
async function takeUp(pageContext: PageContext, id: string): Promise<Response> {
  const { cx, request, browserContext } = pageContext
  const { searchParams } = new URL(request.url)
  const problem = problems.find((each) => each === searchParams.get("trouble"))
  if (problem) return showFailed(pageContext, problem)
  const intent = broughtIntent(cx, searchParams.get("intent") ?? "")
  const found = intent?.idpId === id ? idpById(cx, id) : undefined
  if (!intent || !found) return trouble(pageContext, { problem: "expired" })
  // Whoever has begun it goes on: an answer that was planted in another browser signs nobody in.
  if (intent.agentId !== browserContext.browser.id) {
    return trouble(pageContext, { problem: "other_browser", status: 403 })
  }
  try {
    const asked = await askedOfExternal(pageContext, found, intent)
    return await proceed(pageContext, { intent: { ...intent, answered: asked }, isKept: false })
  } catch (cause) {
    await failIntent(cx, intent.id, reasonOf(cause))
    return failed(pageContext, cause)
  }
}

const problems: readonly ProviderProblem[] = [
  ...(["provider_cancelled", "provider_down", "provider_refused"] as const),
]

/** Undefined for what is no message; why is told to nobody. */
function receivedIn(form: URLSearchParams): ReturnType<typeof fromForm> {
  const refused = new Fault("invalid_argument", "saml.refused", "")
  try {
    return fromForm(form, () => refused, responseSize.most)
  } catch (cause) {
    if (cause === refused) return undefined
    throw cause
  }
}
