import { addAuthRequest } from "../../domain/grant/index.ts"
import { csrfOf } from "../../domain/session/index.ts"
import {
  type BrowserContext,
  browserContextOf,
  continuePath,
  isOwnForm,
  notesFor,
  showForeignForm,
  showNoCookies,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { shownUserCode, userCodeOf } from "../device/user-code.ts"
import { askedBy, type Found, waitingDevice } from "../device/waiting.ts"
import { paths } from "../issuer.ts"
import { parametersOf } from "../request.ts"
import { redirect } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** RFC 8628 §3.3: where a person types the code that a device shows. */
export const device: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  answer: async (asking) => {
    const { cx, request, url, show } = asking
    const browserContext = await browserContextOf(cx, request)
    const page = { cx, show, request, browserContext }
    if (request.method !== "POST") {
      const cookieless = showNoCookies(page)
      if (cookieless !== undefined) return cookieless
      const typed = parametersOf(url.searchParams).get("user_code") ?? ""
      const note = wrongCodes.of({ cx, request, browserContext })
      return askCode(asking, browserContext, note ? { ...note, isWrong: true } : { typed })
    }
    const form = parametersOf(await asking.form())
    if (!isOwnForm(cx, browserContext, { request, csrf: form.get("csrf") ?? "" })) {
      return showForeignForm(page, paths.device)
    }
    const typed = form.get("userCode") ?? ""
    // RFC 8628 §5.1: a code is short, so guessing must cost.
    cx.allowance?.spend("guess")
    const found = waitingDevice(cx, typed)
    if (!found) return wrongCodes.next({ cx, request, browserContext }, { typed: firstOf(typed) })
    cx.allowance?.refund("guess")
    const begun = await beginSignIn(cx, browserContext, found)
    return redirect(continuePath(begun), browserContext.browser.setCookie)
  },
}

/**
 * From here on it is a sign-in like any other, that ends on a page of ours. The person is always
 * asked: whoever sent them the code may sit at the device (RFC 8628 §5.4).
 */
async function beginSignIn(cx: Cx, { browser }: BrowserContext, found: Found) {
  const id = cx.ids.next()
  const asked = askedBy(cx, found)
  cx.allowance?.spend("request")
  await cx.store.transact(cx, (tx) =>
    addAuthRequest(tx, id, { agentId: browser.id, asked, loginHint: "" }),
  )
  return { id, asked }
}

const wrongCodes = notesFor<{ readonly typed: string }>(paths.device)

/** As much as can be a code. */
const firstOf = (typed: string): string => typed.slice(0, 20)

type Typed = { readonly typed: string; readonly isWrong?: boolean }

function askCode(
  { cx, show }: Asking,
  browserContext: BrowserContext,
  { typed, isWrong = false }: Typed,
) {
  const form = { action: paths.device, csrf: csrfOf(cx, browserContext.browser) }
  const userCode = userCodeOf(typed)
  const shown = userCode ? shownUserCode(userCode) : firstOf(typed)
  return show(
    cx,
    (ui, shared) => {
      const error = isWrong ? shared.t("device.error.wrong") : undefined
      return ui.DevicePage({ ...shared, form, userCode: shown, error })
    },
    { status: isWrong ? 422 : 200, cookies: [browserContext.browser.setCookie] },
  )
}
