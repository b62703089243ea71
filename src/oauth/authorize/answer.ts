import type { Requested } from "../../domain/grant/index.ts"
import { type BrowserContext, type ShowPage, showContinue } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf } from "../issuer.ts"
import { redirect } from "../response.ts"
import { isStranger, showStranger } from "./stranger.ts"
import { showTestRefused } from "./tested.ts"

type Back = Pick<
  Requested,
  "appId" | "clientId" | "redirectUri" | "responseMode" | "device" | "testedBy"
> & {
  readonly state?: string | undefined
}

export type Answer = {
  readonly back: Back
  readonly fields: Readonly<Record<string, string>>
  readonly application: string
  /** Who is signed in where it is answered; only refusals are told apart by that. */
  readonly here?: BrowserContext["present"]
  /** Whether a page in a frame waits for it, which nobody sees: see `isSilent`. */
  readonly isSilent?: boolean
  /** Set-Cookie lines. */
  readonly cookies: readonly (string | undefined)[]
  /** Whether a form of ours may have led here: then a page sends the browser on. */
  readonly isAfterForm?: boolean
}

/**
 * Sends an answer of the authorization endpoint to the client, the way it asked for. A refusal that
 * would go to a stranger goes there only if its person wants to.
 */
export async function answerClient(cx: Cx, show: ShowPage, answer: Answer): Promise<Response> {
  const { back, application, cookies } = answer
  if (back.device) return showDeviceDone(cx, show, answer)
  if (back.testedBy !== undefined) return showTestRefused(cx, show, refusedOf(answer))
  const fields = answerFields(cx, back, answer.fields)
  const uri = back.redirectUri
  const isRefused = fields.error !== undefined
  const isAsked = isRefused && answer.isSilent !== true
  if (isAsked && isStranger(cx, { appId: back.appId, uri, here: answer.here ?? [] })) {
    const isPosted = back.responseMode === "form_post"
    const way = isPosted ? { href: uri, fields } : { href: joined(back, fields) }
    return showStranger(cx, show, { ...way, why: "answer", application, cookies })
  }
  if (back.responseMode === "form_post") {
    return postAnswer(cx, show, { redirectUri: back.redirectUri, fields, application, cookies })
  }
  const href = joined(back, fields)
  if (!answer.isAfterForm) return redirect(href, ...cookies)
  const why = isRefused ? "refused" : "signed_in"
  return showContinue(show, cx, { href, application, why, cookies })
}

type Posting = Pick<Answer, "fields" | "application"> & {
  readonly redirectUri: string
  readonly cookies?: Answer["cookies"]
}

/** OAuth 2.0 Form Post Response Mode: a page has the browser post the answer. */
export const postAnswer = (
  cx: Cx,
  show: ShowPage,
  { redirectUri, fields, application, cookies = [] }: Posting,
): Promise<Response> =>
  show(
    cx,
    (ui, shared) => {
      const isRefused = fields.error !== undefined
      return ui.FormPostPage({ ...shared, action: redirectUri, fields, application, isRefused })
    },
    { postsElsewhere: true, cookies },
  )

/**
 * All that the client is told. RFC 9207 §2: each answer names its issuer, so that no client takes
 * one server's for another's.
 */
export const answerFields = (
  cx: Cx,
  { state }: Pick<Back, "state">,
  fields: Answer["fields"],
): Answer["fields"] => ({
  ...fields,
  ...(state !== undefined && { state }),
  iss: issuerOf(cx).issuer,
})

/** What a test comes to through here: its success has a page of its own, see `showTested`. */
function refusedOf({ back, cookies, fields }: Answer) {
  const { error, error_description: description = "" } = fields
  if (error === undefined) throw new Error("a test is answered with a page alone")
  return { clientId: back.clientId, cookies, refusal: { error, description } }
}

/** RFC 8628 §3.3: the device asks for itself; the person learns that it may. */
function showDeviceDone(cx: Cx, show: ShowPage, answer: Answer): Promise<Response> {
  const { application, cookies, fields } = answer
  const isAllowed = fields.error === undefined
  return show(cx, (ui, shared) => ui.DeviceDonePage({ ...shared, application, isAllowed }), {
    cookies,
  })
}

/** RFC 6749 §3.1.2: a query that the redirect URI has already is kept. */
export function joined(
  { redirectUri, responseMode }: Pick<Back, "redirectUri" | "responseMode">,
  fields: Answer["fields"],
): string {
  const text = new URLSearchParams(fields).toString()
  if (responseMode === "fragment") return `${redirectUri}#${text}`
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${text}`
}
