import { addAuthRequest, answerRequest } from "../../domain/grant/index.ts"
import {
  applicationName,
  nextStep,
  type Step,
  showTrouble,
  stepPath,
  type Visit,
  visitOf,
  wantedOf,
} from "../../login/index.ts"
import { answerClient } from "../authorize/answer.ts"
import { type ReturnPath, returnPathOf } from "../authorize/client.ts"
import { type Checked, parseRequest } from "../authorize/parse.ts"
import { writeCode } from "../code.ts"
import { OAuthError } from "../error.ts"
import { paths } from "../own.ts"
import { formSearchOf } from "../request.ts"
import { redirect } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** RFC 6749 §4.1.1, OpenID Connect Core §3.1.2. */
export const authorize: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  answer: async (asking) => {
    const { cx, request, url, show } = asking
    if (request.method === "POST") return asGet(await formSearchOf(request))
    const search = url.searchParams
    const back = returnPathOf(cx, search)
    if ("problem" in back) return showTrouble(show, cx, back)
    try {
      return await begin(asking, back, parseRequest(cx, back, search))
    } catch (cause) {
      if (cause instanceof OAuthError) return sendError(asking, back, cause)
      throw cause
    }
  },
}

/**
 * OpenID Connect Core §3.1.2.1 wants POST too. A form from another site comes without our cookie
 * (SameSite=Lax), so the browser is sent here again with GET, which brings it.
 */
function asGet(search: URLSearchParams): Response {
  const query = search.toString()
  if (query.length <= queryMax) return redirect(`${paths.authorize}?${query}`)
  throw new OAuthError("invalid_request", "the request is too long")
}

const queryMax = 8192

/** Answers at once where the browser's sessions suffice; else the login pages take over. */
async function begin(asking: Asking, back: ReturnPath, checked: Checked): Promise<Response> {
  const { cx, request } = asking
  const visit = await visitOf(cx, request)
  const { asked, loginHint } = checked
  const wanted = wantedOf(cx, asked, { loginHint, created: cx.clock.now(), sessionId: "" })
  const step = nextStep(wanted, visit.present, cx.clock.now())
  const id = cx.ids.next()
  if (step.kind === "done") {
    await cx.store.transact(cx, (tx) => {
      addAuthRequest(tx, id, { ...checked, agentId: visit.browser.id })
      answerRequest(tx, id, step.sessionId)
    })
    return sendCode(asking, back, { id, visit })
  }
  if (asked.prompts.includes("none")) throw silentRefusal(step, asked.prompts.includes("consent"))
  cx.allowance?.spend("request")
  await cx.store.transact(cx, (tx) =>
    addAuthRequest(tx, id, { ...checked, agentId: visit.browser.id }),
  )
  return redirect(stepPath(step, id) ?? "", visit.browser.setCookie)
}

function sendCode(
  { cx, show }: Asking,
  back: ReturnPath,
  { id, visit }: { id: string; visit: Visit },
): Promise<Response> {
  const application = applicationName(cx, back.clientId)
  const cookies = [visit.browser.setCookie]
  return answerClient(cx, show, { back, application, cookies, fields: { code: writeCode(cx, id) } })
}

function sendError({ cx, show }: Asking, back: ReturnPath, fault: OAuthError): Promise<Response> {
  const fields = { error: fault.error, error_description: fault.description }
  const application = applicationName(cx, back.clientId)
  return answerClient(cx, show, { back, application, fields, cookies: [] })
}

/** OpenID Connect Core §3.1.2.6: why prompt=none could not be served. */
function silentRefusal(step: Step, asksConsent: boolean): OAuthError {
  if (step.kind === "choose" && asksConsent) {
    return new OAuthError("consent_required", "the person must be asked for this scope")
  }
  return step.kind === "choose"
    ? new OAuthError("account_selection_required", "several accounts are signed in")
    : new OAuthError("login_required", "nobody is signed in who fits the request")
}
