import {
  createMetadata,
  createSignOnForm,
  failIntent,
  findIdpById,
  findOpenIntent,
  findPostedAnswer,
  finishSamlSignIn,
  recordPostedAnswer,
  type SamlEndpoint,
  succeedIntent,
} from "../../../domain/idp/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { readForm } from "../../../protocol/body.ts"
import { parsePost } from "../../../xml/binding.ts"
import { responseSize } from "../../../xml/read.ts"
import type { ProviderProblem } from "../../appearance/fault-text.ts"
import type { PageContext } from "../../context.ts"
import { redirectTo } from "../../form.ts"
import { renderProblem, showProblem } from "../../problem.ts"
import { runExternalScripts } from "../../sign-in/script.ts"
import {
  continueWithIntent,
  failureIdOf,
  problemOf,
  redirectToCustomLogin,
  showProviderFailure,
  showProviderProblem,
} from "./outcome.ts"
import { recordRejectedResponse } from "./rejected-response.ts"

/** Base64 adds a third to the size of a message; percent-encoding triples some characters. */
const formMax = { bytes: 720_000, parameters: 20 }

/** How long the metadata can be cached. */
const cacheSeconds = 3600

type SamlEndpointRequest = { readonly id: string; readonly part: SamlEndpoint }

/** Serves the SAML endpoints of an identity provider. */
export async function serveSamlEndpoint(
  pageContext: PageContext,
  { id, part }: SamlEndpointRequest,
): Promise<Response> {
  const { method } = pageContext.request
  if (part === "metadata" && method !== "POST") return showMetadata(pageContext, id)
  if (part === "start" && method !== "POST") return showRequestForm(pageContext, id)
  if (part !== "acs") return showProblem(pageContext, { problem: "not_found", status: 404 })
  return method === "POST" ? receiveResponse(pageContext, id) : continueResponse(pageContext, id)
}

async function showMetadata(pageContext: PageContext, id: string): Promise<Response> {
  const { cx } = pageContext
  const found = findIdpById(cx, id)
  if (found?.idp.settings.kind !== "saml") {
    return showProblem(pageContext, { problem: "not_found", status: 404 })
  }
  return new Response(await createMetadata(cx, found), {
    headers: {
      "content-type": "application/samlmetadata+xml",
      "cache-control": `public, max-age=${cacheSeconds}`,
    },
  })
}

/**
 * A page that posts the AuthnRequest, for providers with the HTTP-POST binding (SAML Bindings
 * §3.5).
 */
async function showRequestForm(pageContext: PageContext, id: string): Promise<Response> {
  const { cx, request, show } = pageContext
  const state = new URL(request.url).searchParams.get("state") ?? ""
  const open = findOpenIntent(cx, state)
  const found = open?.idpId === id ? findIdpById(cx, id) : undefined
  if (!open || !found) return showProblem(pageContext, { problem: "expired" })
  try {
    const { url, fields } = await createSignOnForm(cx, found, { state, flow: open.kept })
    const provider = found.idp.name
    return await show(
      cx,
      (ui, shared) => ui.FormPostPage({ ...shared, action: url, fields, provider }),
      { postsElsewhere: true, orgId: found.place },
    )
  } catch (cause) {
    return showProviderFailure(pageContext, cause)
  }
}

/**
 * Receives the form of a provider, which comes without our cookie. It is verified immediately,
 * once; the browser that began the sign-in then continues with a GET request that contains the
 * cookie.
 */
async function receiveResponse(pageContext: PageContext, id: string): Promise<Response> {
  const { cx, request } = pageContext
  const { pathname } = new URL(request.url)
  const form = await readForm(request, formMax)
  const received = typeof form === "string" ? undefined : parseReceived(form)
  if (received?.kind !== "SAMLResponse") {
    return renderProblem(pageContext, { problem: "invalid_request" })
  }
  const open = findOpenIntent(cx, received.relayState)
  const found = open?.idpId === id ? findIdpById(cx, id) : undefined
  if (!open || !found) return redirectTo(`${pathname}?trouble=expired`)
  // Verifying a response costs more than forging one.
  cx.allowance?.spend("client")
  try {
    const { kept, agentId } = open
    // A custom login page receives the assertion; our own pages need only its content.
    const response = { xml: received.xml, kept, withAssertion: agentId === "" }
    const answered = await finishSamlSignIn(cx, found, response)
    cx.allowance?.refund("client")
    if (open.agentId === "") {
      const token = await succeedIntent(cx, open.id, answered)
      return redirectToCustomLogin(cx, open, { token, answered })
    }
    await recordPostedAnswer(cx, open.id, answered)
    return redirectTo(`${pathname}?intent=${open.id}`)
  } catch (cause) {
    const error = failureIdOf(cause)
    await failIntent(cx, open.id, error)
    recordRejectedResponse(cx, found.idp, { endpoint: pathname, cause })
    const problem = problemOf(cx, cause)
    if (open.agentId === "") return redirectToCustomLogin(cx, open, { error })
    return redirectTo(`${pathname}?trouble=${problem}`)
  }
}

/** The browser continues with the received response, or to a page that explains the problem. */
async function continueResponse(pageContext: PageContext, id: string): Promise<Response> {
  const { cx, request, browserContext } = pageContext
  const { searchParams } = new URL(request.url)
  const problem = problems.find((each) => each === searchParams.get("trouble"))
  if (problem) return showProviderProblem(pageContext, problem)
  const intent = findPostedAnswer(cx, searchParams.get("intent") ?? "")
  const found = intent?.idpId === id ? findIdpById(cx, id) : undefined
  if (!intent || !found) return showProblem(pageContext, { problem: "expired" })
  // Only the browser that began the sign-in can continue it: a response planted in another browser
  // signs in no one.
  if (intent.agentId !== browserContext.browser.id) {
    return showProblem(pageContext, { problem: "other_browser", status: 403 })
  }
  try {
    const scripted = await runExternalScripts(pageContext, found, intent)
    return await continueWithIntent(pageContext, {
      intent: { ...intent, answered: scripted },
      isStored: false,
    })
  } catch (cause) {
    await failIntent(cx, intent.id, failureIdOf(cause))
    return showProviderFailure(pageContext, cause)
  }
}

const problems: readonly ProviderProblem[] = [
  ...(["provider_cancelled", "provider_down", "provider_refused"] as const),
]

/** The received message; undefined if it is invalid, for whatever reason. */
function parseReceived(form: URLSearchParams): ReturnType<typeof parsePost> {
  const refused = new Fault("invalid_argument", "saml.refused", "")
  try {
    return parsePost(form, () => refused, responseSize.maxLength)
  } catch (cause) {
    if (cause === refused) return undefined
    throw cause
  }
}
