import type { SetupWay } from "../../../../ui/login/index.ts"
import { requirementsOfApp } from "../../../domain/app-access/index.ts"
import {
  addOtp,
  admitTotp,
  beginKey,
  hasKeys,
  type OtpChannel,
  pendingTotp,
  registerTotp,
  skipFactors,
  totpUri,
} from "../../../domain/factor/index.ts"
import { instance } from "../../../domain/instance/index.ts"
import {
  accountOf,
  afterwards,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  stepOf,
  targetOf,
} from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { loginPaths } from "../../path.ts"
import { askedName } from "../../request.ts"
import { type Attempted, attempt, keyAttempt } from "./attempt.ts"

/** What was chosen, as a form has left it. */
type Chosen =
  | { readonly way: "otp"; readonly problem?: Problem }
  | (KeyBegun & { readonly way: "passkey" | "u2f" })

type KeyBegun = {
  readonly tokenId: string
  readonly options: string
  readonly isWrong: boolean
}

const chosen = notesFor<Chosen>(loginPaths.factorSetup)

/** GET: what could be set up, or how what was chosen is. */
async function askSetup(loginContext: LoginContext): Promise<Response> {
  const asked = askedOf(loginContext)
  if (!asked) return goTo(afterwards(loginContext))
  const note = chosen.of(loginContext)
  if (!note || !asked.ways.includes(note.way)) return choicePage(loginContext, asked)
  const { userId } = asked
  if (note.way !== "otp") return keyPage(loginContext, userId, note)
  const secret = pendingTotp(loginContext.cx, userId)
  if (secret === undefined) return choicePage(loginContext, asked)
  return totpPage(loginContext, { userId, secret, problem: note.problem })
}

/** Something was chosen, or shown to work. */
async function takeSetup(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const asked = askedOf(loginContext)
  if (!asked) return goTo(afterwards(loginContext))
  const { userId, ways, isForced } = asked
  const named = fields.get("factor")
  if (named === "skip" && !isForced) {
    await skipFactors(loginContext.cx, userId)
    return goTo(afterwards(loginContext))
  }
  const way = ways.find((each) => each === named)
  if (way === undefined) return goTo(hrefOf(loginContext, loginPaths.factorSetup))
  if (way === "otp") return setUpTotp(loginContext, asked, fields)
  if (way === "passkey" || way === "u2f") return setUpKey(loginContext, { ...asked, way }, fields)
  await addOtp(loginContext.cx, userId, channels[way])
  // The flow asks for a code at once: it shows that it arrives.
  return goTo(afterwards(loginContext))
}

type SetUp = {
  readonly userId: string
  readonly ways: readonly SetupWay[]
  readonly isForced: boolean
}

/** What may be set up now: never beside a factor that is there, which has to be proved. */
function askedOf(loginContext: LoginContext): SetUp | undefined {
  const step = stepOf(loginContext)
  if (step.kind !== "set up") return undefined
  const { userId, factors, isForced } = step
  const ways = factors.flatMap((factor) => (factor === "recovery_codes" ? [] : [factor]))
  return { userId, ways, isForced }
}

const channels: Readonly<Record<"otp_email" | "otp_sms", OtpChannel>> = {
  otp_email: "email",
  otp_sms: "sms",
}

type Problem = Extract<Attempted, { kind: "wrong" | "too many" | "over" }>

function sharedOf(loginContext: LoginContext, userId: string) {
  return {
    form: targetOf(loginContext, loginPaths.factorSetup),
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
  }
}

function choicePage(loginContext: LoginContext, asked: SetUp): Promise<Response> {
  const { ways, isForced, userId } = asked
  const lacksKeys = !hasKeys(loginContext.cx)
  const page = {
    ...sharedOf(loginContext, userId),
    ways,
    isForced,
    lacksKeys,
    application: applicationRequiring(loginContext),
  }
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.FactorSetupPage({ ...shared, ...page }),
    optionsOf(loginContext, 200, userId),
  )
}

/** The name of the application if it requires a second factor. */
function applicationRequiring({ cx, waiting }: LoginContext): string | undefined {
  const isRequired = waiting && requirementsOfApp(cx, waiting.asked.appId).secondFactor
  return isRequired ? askedName(cx, waiting.asked) : undefined
}

async function setUpTotp(
  loginContext: LoginContext,
  { userId }: SetUp,
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const code = fields.get("code")
  if (code === "") {
    await registerTotp(cx, userId, labelOf(loginContext, userId))
    return chosen.next(loginContext, { way: "otp" })
  }
  if (pendingTotp(cx, userId) === undefined) return goTo(afterwards(loginContext))
  const admit = () => admitTotp(cx, userId, code)
  const result = await attempt(loginContext, { userId, kind: "totp", admit, done: "factor_setup" })
  if (result.kind === "in") return result.answer
  return chosen.next(loginContext, { way: "otp", problem: result })
}

/** What the app shows beside its codes. */
const labelOf = ({ cx, browserContext }: LoginContext, userId: string) => ({
  issuer: cx.store.state(cx, instance, cx.instance).name || new URL(browserContext.issuer).hostname,
  label: accountOf(cx, userId).loginName,
})

type TotpShown = {
  readonly userId: string
  readonly secret: string
  readonly problem: Problem | undefined
}

async function totpPage(
  loginContext: LoginContext,
  { userId, secret, problem }: TotpShown,
): Promise<Response> {
  const uri = await totpUri(secret, labelOf(loginContext, userId))
  const backHref = hrefOf(loginContext, loginPaths.factorSetup)
  const page = { ...sharedOf(loginContext, userId), uri, secret, backHref }
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  const minutes = Math.ceil(seconds / 60)
  const key = seconds > 0 ? "factor.error.too_many" : "factor.error.wrong"
  return loginContext.show(
    loginContext.cx,
    (ui, { t, ...shared }) =>
      ui.TotpSetupPage({ ...shared, ...page, t, error: problem && t(key, { minutes }) }),
    optionsOf(loginContext, seconds > 0 ? 429 : problem ? 422 : 200, userId),
  )
}

async function setUpKey(
  loginContext: LoginContext,
  { userId, way: kind }: SetUp & { readonly way: "passkey" | "u2f" },
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const tokenId = fields.get("tokenId")
  const given = fields.get("credential")
  const result =
    given === "" ? undefined : await keyAttempt(loginContext, { userId, kind, tokenId, given })
  if (result?.kind === "in") return result.answer
  const begun = await beginKey(cx, userId, { kind })
  return chosen.next(loginContext, {
    way: kind,
    tokenId: begun.tokenId,
    options: JSON.stringify(begun.options),
    isWrong: result !== undefined,
  })
}

function keyPage(
  loginContext: LoginContext,
  userId: string,
  { way: kind, tokenId, options, isWrong }: KeyBegun & { readonly way: "passkey" | "u2f" },
): Promise<Response> {
  const page = {
    ...sharedOf(loginContext, userId),
    kind,
    options,
    hidden: { factor: kind, tokenId },
    backHref: hrefOf(loginContext, loginPaths.factorSetup),
  }
  return loginContext.show(
    loginContext.cx,
    (ui, { t, ...shared }) =>
      ui.KeySetupPage({
        ...shared,
        ...page,
        t,
        error: isWrong ? t.on(`${kind}_setup`)("factor.error.key") : undefined,
      }),
    optionsOf(loginContext, isWrong ? 422 : 200, userId),
  )
}

export const factorSetupScreen: Screen = {
  path: loginPaths.factorSetup,
  get: askSetup,
  post: takeSetup,
}
