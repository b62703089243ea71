import {
  type Answered,
  doneWith,
  failIntent,
  finishUpstream,
  type Intent,
  idpById,
  type OpenIntent,
  openIntent,
  type RequestedSignIn,
  redirectUriOf,
  startIntent,
  succeedIntent,
  tokenPath,
  tokenState,
} from "../../../domain/idp/index.ts"
import { linkedUser } from "../../../domain/user/index.ts"
import { formWithin } from "../../../kernel/body.ts"
import { Fault, reasonText } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import type { LoginContext, PageContext } from "../../context.ts"
import { askedOfExternal } from "../../entered/script.ts"
import { loginContextOf } from "../../entrance.ts"
import { goTo } from "../../form.ts"
import { linkings, offeredIdp, options } from "../../part/provider.ts"
import type { Waiting } from "../../request.ts"
import { trouble } from "../../trouble.ts"
import { domainRefusalOf, recordDomainRefusal } from "./allowed-domain.ts"
import { enterLinked, enterLinking, enterNew } from "./enter.ts"
import { judged, type Newcomer, newcomerOf } from "./person.ts"
import { recordRefusedAnswer } from "./refused-answer.ts"

/** GET: sends the browser to a provider that the page has offered. */
export async function startExternal(loginContext: LoginContext): Promise<Response> {
  const { cx, request, browserContext, waiting } = loginContext
  const id = new URL(request.url).searchParams.get("idp") ?? ""
  const found = offeredIdp(loginContext, id)
  if (!found) return trouble(loginContext, { problem: "not_found", status: 404 })
  try {
    const { authUrl } = await startIntent(cx, found, {
      ...{ agentId: browserContext.browser.id, requestId: waiting?.id ?? "", creatorId: "" },
      ...{ successUrl: "", failureUrl: "" },
      ...(waiting && { requested: requestedOf(waiting) }),
    })
    return goTo(authUrl, browserContext.browser.setCookie)
  } catch (cause) {
    return failed(loginContext, cause)
  }
}

/** What the request that waits requires of a sign-in, wherever that happens. */
const requestedOf = ({ asked, loginHint }: Waiting): RequestedSignIn => ({
  mustSignIn: asked.prompts.includes("login"),
  ...{ maxAgeSeconds: asked.maxAge, loginHint, acrValues: asked.acrValues },
})

/**
 * What a provider has answered. A form that comes from elsewhere brings no cookie of ours, so that
 * it is asked for once more as an address.
 */
export async function takeCallback(pageContext: PageContext): Promise<Response> {
  const { cx, request } = pageContext
  const url = new URL(request.url)
  if (request.method === "POST") {
    const form = await formWithin(request, { bytes: 16_384, parameters: 20 })
    if (typeof form === "string") return trouble(pageContext, { problem: "invalid_request" })
    return goTo(`${url.pathname}?${form}`)
  }
  const isToken = url.pathname === tokenPath
  const state = isToken ? tokenState(url.searchParams) : url.searchParams.get("state")
  const open = openIntent(cx, state ?? "")
  const found = open && idpById(cx, open.idpId)
  // Another provider's answer, or one that came by another's address.
  if (!open || !found || new URL(redirectUriOf(cx, found)).pathname !== url.pathname) {
    return trouble(pageContext, { problem: "expired" })
  }
  // Whoever has begun it goes on: a state that was planted in another browser signs nobody in.
  if (open.agentId !== "" && open.agentId !== pageContext.browserContext.browser.id) {
    return trouble(pageContext, { problem: "other_browser", status: 403 })
  }
  const isOurs = open.agentId !== ""
  try {
    const { headers } = request
    const returned = { parameters: url.searchParams, headers, kept: open.kept }
    const said = await finishUpstream(cx, found, returned)
    if (!isOurs) {
      const token = await succeedIntent(cx, open.id, said)
      return tellElsewhere(cx, open, { token, answered: said })
    }
    const { requestId, linkUserId } = open
    const come = { answered: said, requestId, linkUserId }
    const answered = await askedOfExternal(pageContext, found, come)
    return await proceed(pageContext, { intent: doneWith(open, answered), isKept: false })
  } catch (cause) {
    const error = reasonOf(cause)
    await failIntent(cx, open.id, error)
    recordRefusedAnswer(cx, found.idp, { endpoint: url.pathname, cause })
    return isOurs ? failed(pageContext, cause) : tellElsewhere(cx, open, { error })
  }
}

type Elsewhere = Pick<OpenIntent, "id" | "idpId" | "successUrl" | "failureUrl">
type End = { readonly token: string; readonly answered: Answered } | { readonly error: string }

/** Tells a login page of somebody else what came of an intent that it has begun. */
export function tellElsewhere(cx: Cx, open: Elsewhere, end: End): Response {
  const { id, idpId, successUrl, failureUrl } = open
  if ("error" in end) return goTo(withParameters(failureUrl, { id, error: end.error }))
  const { externalId } = end.answered.identity
  const user = linkedUser(cx, { idpId, externalId }) ?? ""
  return goTo(withParameters(successUrl, { id, token: end.token, user }))
}

/** What came of an intent, and whether that is kept already. */
type Came = { readonly intent: Intent; readonly isKept: boolean }

/**
 * Goes on with who has proved to a provider who they are, on our own pages. What came of it is used
 * at once where nothing is left to ask: then none of it is kept.
 */
export async function proceed(pageContext: PageContext, came: Came): Promise<Response> {
  const { cx } = pageContext
  const { intent, isKept } = came
  const context = await loginContextOf(pageContext, intent.requestId)
  if (context instanceof Response) return context
  const newcomer = newcomerOf(context, intent)
  if (!newcomer) return trouble(context, { problem: "expired" })
  const verdict = intent.linkUserId === undefined ? judged(context, newcomer) : undefined
  const fresh = { ...newcomer, isFresh: !isKept }
  if (verdict?.kind === "sign in") return enterLinked(context, fresh, verdict.userId)
  if (verdict?.kind === "link") return enterLinking(context, fresh, verdict.userId)
  if (verdict?.kind === "create") return created(context, fresh)
  if (verdict?.kind === "barred") return trouble(context, { problem: "not_allowed", status: 403 })
  if (!isKept) await succeedIntent(cx, intent.id, intent.answered)
  if (verdict?.kind === "refuse") return refuseCreation(context, newcomer)
  const domainRefusal = verdict && domainRefusalOf(newcomer)
  if (domainRefusal) recordDomainRefusal(context, domainRefusal)
  return (verdict ? options : linkings).next(context, { intentId: intent.id })
}

/** The page for somebody who can't get an account; the administrators find out why. */
export function refuseCreation(
  context: LoginContext,
  newcomer: Newcomer,
): Promise<Response> | Response {
  const domainRefusal = domainRefusalOf(newcomer)
  if (domainRefusal) recordDomainRefusal(context, domainRefusal)
  const problem = domainRefusal ? "provider_domain" : "provider_unlinked"
  return trouble(context, { problem, status: 403 })
}

/** Where the account can't be made as the provider says, the person is asked. */
async function created(context: LoginContext, newcomer: Newcomer): Promise<Response> {
  const { givenName, familyName, email, userName } = newcomer.identity
  const { intent, isFresh } = newcomer
  try {
    return await enterNew(context, newcomer, { givenName, familyName, email, userName })
  } catch (cause) {
    if (!(cause instanceof Fault) || !mendable.has(cause.code)) throw cause
    if (isFresh) await succeedIntent(context.cx, intent.id, intent.answered)
    return options.next(context, { intentId: intent.id, problem: "taken" })
  }
}

/** What somebody else's name or a word that can't be one is refused with. */
export const mendable: ReadonlySet<string> = new Set(["already_exists", "invalid_argument"])

/** A provider that did not do what it should has a page of its own; the log has the cause. */
export const failed = (pageContext: PageContext, cause: unknown): Promise<Response> | Response =>
  showFailed(pageContext, problemOf(pageContext.cx, cause))

/** The page itself. */
export const showFailed = (
  pageContext: PageContext,
  problem: ProviderProblem,
): Promise<Response> | Response =>
  trouble(pageContext, { problem, status: problem === "provider_down" ? 503 : 400 })

/** What is told of it, and logged; throws what is no failure of a provider. */
export function problemOf(cx: Cx, cause: unknown): ProviderProblem {
  const problem = cause instanceof Fault ? problems[cause.id] : undefined
  if (!(cause instanceof Fault) || !problem) throw cause
  if (cause.cause) cx.warn(`an identity provider failed: ${reasonText(cause.cause)}`)
  return problem
}

export type ProviderProblem = "provider_cancelled" | "provider_down" | "provider_refused"

const problems: Readonly<Record<string, ProviderProblem>> = {
  "idp.cancelled": "provider_cancelled",
  "idp.unreachable": "provider_down",
  "idp.answer_refused": "provider_refused",
  "idp.claims_missing": "provider_refused",
}

/** The id of what went wrong, as it is kept and told. */
export const reasonOf = (cause: unknown): string => (cause instanceof Fault ? cause.id : "internal")

function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "") url.searchParams.set(name, value)
  }
  return url.href
}
