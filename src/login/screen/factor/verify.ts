import type { FactorWay } from "../../../../ui/login/index.ts"
import {
  type CheckKind,
  challengeCode,
  challengeKey,
  type Factor,
  type OtpChannel,
} from "../../../domain/factor/index.ts"
import { queueOtp } from "../../../domain/message/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  accountOf,
  afterwards,
  applicationOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  stepOf,
  targetOf,
} from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { readChallenge, writeChallenge } from "../../part/challenge.ts"
import { loginPaths } from "../../path.ts"
import { type Attempted, attemptCheck } from "./attempt.ts"

/** What was tried, or sent. */
type Shown = Partial<Exclude<Attempted, { kind: "in" | "over" }>> & {
  readonly factor: Factor
  readonly challenge?: string
}

const tried = notesFor<Shown>(loginPaths.factor)

/** GET: the factor that the address names, else the best. It sends nothing and uses nothing up. */
function askFactor(loginContext: LoginContext): Promise<Response> | Response {
  const note = tried.of(loginContext)
  const named = note?.factor ?? searchOf(loginContext).get("factor") ?? ""
  const asked = askedOf(loginContext, named)
  if (!asked) return goTo(afterwards(loginContext))
  return factorPage(loginContext, asked, note?.factor === asked.factor ? note : undefined)
}

/** A proof was given, or a code is to be sent. */
async function takeFactor(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const asked = askedOf(loginContext, fields.get("factor"))
  if (!asked) return goTo(afterwards(loginContext))
  if (fields.get("send") !== "") return sendCode(loginContext, asked)
  const { cx, browserContext } = loginContext
  const { userId, factor } = asked
  const sealed = fields.get("challenge")
  const given = isKey(factor) ? fields.get("credential") : fields.get("code")
  const challenge = readChallenge(cx, browserContext, { userId, sealed })
  const result = await attemptCheck(loginContext, kinds[factor], { userId, given, challenge })
  if (result.kind === "in") return result.answer
  if (result.kind === "over") return goTo(afterwards(loginContext))
  const isSent = challenge?.kind === "code"
  return tried.next(loginContext, { factor, ...result, ...(isSent && { challenge: sealed }) })
}

type AskedFactor = {
  readonly userId: string
  readonly factor: Factor
  readonly factors: readonly Factor[]
}

/** What the flow wants proved now; undefined where that is something else. */
function askedOf(loginContext: LoginContext, named: string): AskedFactor | undefined {
  const step = stepOf(loginContext)
  if (step.kind !== "factor") return undefined
  const { userId, factors } = step
  const [best] = factors
  const factor = factors.find((each) => each === named) ?? best
  return factor && { userId, factor, factors }
}

const kinds: Readonly<Record<Factor, CheckKind>> = {
  otp: "totp",
  otp_email: "otp_email",
  otp_sms: "otp_sms",
  recovery_codes: "recovery_code",
  u2f: "webauthn",
  passkey: "webauthn",
}

const isKey = (factor: Factor): factor is "u2f" | "passkey" => kinds[factor] === "webauthn"
const wayOf = (factor: Factor): FactorWay => (isKey(factor) ? "key" : factor)

const channels: Readonly<Partial<Record<Factor, OtpChannel>>> = {
  otp_email: "email",
  otp_sms: "sms",
}

async function sendCode(loginContext: LoginContext, asked: AskedFactor): Promise<Response> {
  const { cx, browserContext } = loginContext
  const { userId, factor } = asked
  const channel = channels[factor]
  if (!channel) return tried.next(loginContext, { factor })
  const { plain: code, challenge } = challengeCode(cx, userId, channel)
  const { expires } = challenge
  try {
    await cx.store.transact(cx, (tx) =>
      queueOtp(tx, { userId, channel, code, expires, sessionId: "" }),
    )
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds === undefined) throw cause
    return tried.next(loginContext, { factor, kind: "too many", retryAfterSeconds })
  }
  const sealed = writeChallenge(cx, browserContext, { userId, challenge })
  return tried.next(loginContext, { factor, challenge: sealed })
}

async function factorPage(
  loginContext: LoginContext,
  { userId, factor, factors }: AskedFactor,
  shown: Shown = { factor },
): Promise<Response> {
  const { cx, show } = loginContext
  const seconds = "retryAfterSeconds" in shown ? (shown.retryAfterSeconds ?? 0) : 0
  const status = seconds > 0 ? 429 : shown.kind === "wrong" ? 422 : 200
  const key = isKey(factor) ? await askKey(loginContext, userId) : undefined
  const form = targetOf(loginContext, loginPaths.factor)
  const ways = [...new Set(factors.map(wayOf))].filter((way) => way !== wayOf(factor))
  const others = ways.map((way) => ({
    way,
    href: withFactor(loginContext, factors.find((each) => wayOf(each) === way) ?? factor),
  }))
  const account = accountOf(cx, userId)
  const changeHref = hrefOf(loginContext, loginPaths.loginName)
  const application = applicationOf(loginContext)
  const challenge = key?.challenge ?? shown.challenge
  return show(
    cx,
    (ui, shared) => {
      const t = shared.t.on(factor)
      return ui.FactorPage({
        ...shared,
        form,
        factor,
        way: wayOf(factor),
        account,
        changeHref,
        application,
        others,
        challenge,
        options: key?.options,
        error:
          seconds > 0
            ? t("factor.error.too_many", { minutes: Math.ceil(seconds / 60) })
            : shown.kind === "wrong"
              ? t(key ? "factor.error.key" : "factor.error.wrong")
              : undefined,
      })
    },
    { ...optionsOf(loginContext, status, userId), retryAfterSeconds: seconds },
  )
}

/** Asks for any key of the person; a passkey need not see again who holds it. */
async function askKey({ cx, browserContext }: LoginContext, userId: string) {
  const { options, challenge } = challengeKey(cx, { userId, userVerification: "preferred" })
  return {
    options: JSON.stringify(options),
    challenge: writeChallenge(cx, browserContext, { userId, challenge }),
  }
}

const withFactor = (loginContext: LoginContext, factor: Factor): string =>
  `${hrefOf(loginContext, loginPaths.factor)}&factor=${factor}`

const searchOf = ({ request }: LoginContext): URLSearchParams => new URL(request.url).searchParams

export const factorScreen: Screen = { path: loginPaths.factor, get: askFactor, post: takeFactor }
