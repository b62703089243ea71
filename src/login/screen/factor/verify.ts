import type { FactorKind } from "../../../../ui/login/index.ts"
import {
  type CheckKind,
  challengeKey,
  createCodeChallenge,
  type Factor,
  type OtpChannel,
} from "../../../domain/factor/index.ts"
import { queueOtp } from "../../../domain/message/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  accountOf,
  applicationOf,
  destinationAfterSignIn,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  stepOf,
} from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { openChallenge, sealChallenge } from "../../part/challenge.ts"
import { loginPaths } from "../../path.ts"
import { type AttemptResult, attemptCheck } from "./attempt.ts"

/** State of the page: a failed attempt, or a sent code. */
type VerifyState = Partial<Exclude<AttemptResult, { kind: "in" | "over" }>> & {
  readonly factor: Factor
  readonly challenge?: string
}

const verifyState = pageStateFor<VerifyState>(loginPaths.factor)

/** GET: the factor in the URL, otherwise the best one. Sends no code and uses none. */
function showFactor(loginContext: LoginContext): Promise<Response> | Response {
  const pageState = verifyState.of(loginContext)
  const factorName = pageState?.factor ?? searchOf(loginContext).get("factor") ?? ""
  const required = requiredFactorOf(loginContext, factorName)
  if (!required) return redirectTo(destinationAfterSignIn(loginContext))
  return factorPage(
    loginContext,
    required,
    pageState?.factor === required.factor ? pageState : undefined,
  )
}

/** POST: verifies a proof, or sends a code. */
async function postFactor(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const required = requiredFactorOf(loginContext, fields.get("factor"))
  if (!required) return redirectTo(destinationAfterSignIn(loginContext))
  if (fields.get("send") !== "") return sendCode(loginContext, required)
  const { cx, browserContext } = loginContext
  const { userId, factor } = required
  const sealed = fields.get("challenge")
  const given = isKey(factor) ? fields.get("credential") : fields.get("code")
  const challenge = openChallenge(cx, browserContext, { userId, sealed })
  const result = await attemptCheck(loginContext, checkKinds[factor], { userId, given, challenge })
  if (result.kind === "in") return result.answer
  if (result.kind === "over") return redirectTo(destinationAfterSignIn(loginContext))
  const isSent = challenge?.kind === "code"
  return verifyState.next(loginContext, { factor, ...result, ...(isSent && { challenge: sealed }) })
}

type RequiredFactor = {
  readonly userId: string
  readonly factor: Factor
  readonly factors: readonly Factor[]
}

/** The factor that the flow requires now; undefined if another step is next. */
function requiredFactorOf(
  loginContext: LoginContext,
  factorName: string,
): RequiredFactor | undefined {
  const step = stepOf(loginContext)
  if (step.kind !== "factor") return undefined
  const { userId, factors } = step
  const [best] = factors
  const factor = factors.find((each) => each === factorName) ?? best
  return factor && { userId, factor, factors }
}

const checkKinds: Readonly<Record<Factor, CheckKind>> = {
  otp: "totp",
  otp_email: "otp_email",
  otp_sms: "otp_sms",
  recovery_codes: "recovery_code",
  u2f: "webauthn",
  passkey: "webauthn",
}

const isKey = (factor: Factor): factor is "u2f" | "passkey" => checkKinds[factor] === "webauthn"
const factorWayOf = (factor: Factor): FactorKind => (isKey(factor) ? "key" : factor)

const channels: Readonly<Partial<Record<Factor, OtpChannel>>> = {
  otp_email: "email",
  otp_sms: "sms",
}

async function sendCode(loginContext: LoginContext, required: RequiredFactor): Promise<Response> {
  const { cx, browserContext } = loginContext
  const { userId, factor } = required
  const channel = channels[factor]
  if (!channel) return verifyState.next(loginContext, { factor })
  const { plain: code, challenge } = createCodeChallenge(cx, userId, channel)
  const { expires } = challenge
  try {
    await cx.store.transact(cx, (tx) =>
      queueOtp(tx, { userId, channel, code, expires, sessionId: "" }),
    )
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds === undefined) throw cause
    return verifyState.next(loginContext, { factor, kind: "too many", retryAfterSeconds })
  }
  const sealed = sealChallenge(cx, browserContext, { userId, challenge })
  return verifyState.next(loginContext, { factor, challenge: sealed })
}

async function factorPage(
  loginContext: LoginContext,
  { userId, factor, factors }: RequiredFactor,
  state: VerifyState = { factor },
): Promise<Response> {
  const { cx, show } = loginContext
  const seconds = "retryAfterSeconds" in state ? (state.retryAfterSeconds ?? 0) : 0
  const status = seconds > 0 ? 429 : state.kind === "wrong" ? 422 : 200
  const key = isKey(factor) ? await requestKey(loginContext, userId) : undefined
  const form = formTargetOf(loginContext, loginPaths.factor)
  const ways = [...new Set(factors.map(factorWayOf))].filter(
    (method) => method !== factorWayOf(factor),
  )
  const others = ways.map((method) => ({
    kind: method,
    href: withFactor(loginContext, factors.find((each) => factorWayOf(each) === method) ?? factor),
  }))
  const account = accountOf(cx, userId)
  const changeHref = hrefOf(loginContext, loginPaths.loginName)
  const application = applicationOf(loginContext)
  const challenge = key?.challenge ?? state.challenge
  return show(
    cx,
    (ui, shared) => {
      const t = shared.t.on(factor)
      return ui.FactorPage({
        ...shared,
        form,
        factor,
        kind: factorWayOf(factor),
        account,
        changeHref,
        application,
        others,
        challenge,
        options: key?.options,
        error:
          seconds > 0
            ? t("factor.error.too_many", { minutes: Math.ceil(seconds / 60) })
            : state.kind === "wrong"
              ? t(key ? "factor.error.key" : "factor.error.wrong")
              : undefined,
      })
    },
    { ...optionsOf(loginContext, status, userId), retryAfterSeconds: seconds },
  )
}

/** Requests any key of the user; a passkey does not have to verify the user again. */
async function requestKey({ cx, browserContext }: LoginContext, userId: string) {
  const { options, challenge } = challengeKey(cx, { userId, userVerification: "preferred" })
  return {
    options: JSON.stringify(options),
    challenge: sealChallenge(cx, browserContext, { userId, challenge }),
  }
}

const withFactor = (loginContext: LoginContext, factor: Factor): string =>
  `${hrefOf(loginContext, loginPaths.factor)}&factor=${factor}`

const searchOf = ({ request }: LoginContext): URLSearchParams => new URL(request.url).searchParams

export const factorScreen: Screen = { path: loginPaths.factor, get: showFactor, post: postFactor }
