import type { SetupFactor } from "../../../../ui/login/index.ts"
import { requirementsOfApp } from "../../../domain/app-access/index.ts"
import {
  addOtp,
  areKeysSupported,
  beginKey,
  type OtpChannel,
  pendingTotp,
  prepareTotpVerification,
  registerTotp,
  skipFactors,
  totpUri,
} from "../../../domain/factor/index.ts"
import { instance } from "../../../domain/instance/index.ts"
import {
  accountOf,
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
import { loginPaths } from "../../path.ts"
import { requestedName } from "../../request.ts"
import { type AttemptResult, attemptFactor, attemptKeyRegistration } from "./attempt.ts"

/** State of the page after a factor was chosen. */
type SetupState =
  | { readonly way: "otp"; readonly problem?: Problem }
  | (KeySetup & { readonly way: "passkey" | "u2f" })

type KeySetup = {
  readonly tokenId: string
  readonly options: string
  readonly isWrong: boolean
}

const setupState = pageStateFor<SetupState>(loginPaths.factorSetup)

/** GET: the factors that can be set up, or the setup of the chosen one. */
async function showSetup(loginContext: LoginContext): Promise<Response> {
  const setupOptions = setupOptionsOf(loginContext)
  if (!setupOptions) return redirectTo(destinationAfterSignIn(loginContext))
  const state = setupState.of(loginContext)
  if (!state || !setupOptions.ways.includes(state.way))
    return choicePage(loginContext, setupOptions)
  const { userId } = setupOptions
  if (state.way !== "otp") return keyPage(loginContext, userId, state)
  const secret = pendingTotp(loginContext.cx, userId)
  if (secret === undefined) return choicePage(loginContext, setupOptions)
  return totpPage(loginContext, { userId, secret, problem: state.problem })
}

/** POST: a factor was chosen, or its first code or key was entered. */
async function postSetup(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const setupOptions = setupOptionsOf(loginContext)
  if (!setupOptions) return redirectTo(destinationAfterSignIn(loginContext))
  const { userId, ways, isForced } = setupOptions
  const factorName = fields.get("factor")
  if (factorName === "skip" && !isForced) {
    await skipFactors(loginContext.cx, userId)
    return redirectTo(destinationAfterSignIn(loginContext))
  }
  const method = ways.find((each) => each === factorName)
  if (method === undefined) return redirectTo(hrefOf(loginContext, loginPaths.factorSetup))
  if (method === "otp") return setUpTotp(loginContext, setupOptions, fields)
  if (method === "passkey" || method === "u2f")
    return setUpKey(loginContext, { ...setupOptions, way: method }, fields)
  await addOtp(loginContext.cx, userId, channels[method])
  // The next step asks for a code immediately, which verifies the channel.
  return redirectTo(destinationAfterSignIn(loginContext))
}

type SetupOptions = {
  readonly userId: string
  readonly ways: readonly SetupFactor[]
  readonly isForced: boolean
}

/**
 * Factors that can be set up now. Undefined if the user has a factor, which must be proved first.
 */
function setupOptionsOf(loginContext: LoginContext): SetupOptions | undefined {
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

type Problem = Extract<AttemptResult, { kind: "wrong" | "too many" | "over" }>

function sharedPropsOf(loginContext: LoginContext, userId: string) {
  return {
    form: formTargetOf(loginContext, loginPaths.factorSetup),
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
  }
}

function choicePage(loginContext: LoginContext, setupOptions: SetupOptions): Promise<Response> {
  const { ways, isForced, userId } = setupOptions
  const isWebAuthnUnavailable = !areKeysSupported(loginContext.cx)
  const page = {
    ...sharedPropsOf(loginContext, userId),
    factors: ways,
    isForced,
    isWebAuthnUnavailable,
    application: applicationRequiring(loginContext),
  }
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.FactorSetupPage({ ...shared, ...page }),
    optionsOf(loginContext, 200, userId),
  )
}

/** The name of the application if it requires a second factor; otherwise undefined. */
function applicationRequiring({ cx, waiting }: LoginContext): string | undefined {
  const isRequired = waiting && requirementsOfApp(cx, waiting.asked.appId).secondFactor
  return isRequired ? requestedName(cx, waiting.asked) : undefined
}

async function setUpTotp(
  loginContext: LoginContext,
  { userId }: SetupOptions,
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const code = fields.get("code")
  if (code === "") {
    await registerTotp(cx, userId, labelOf(loginContext, userId))
    return setupState.next(loginContext, { way: "otp" })
  }
  if (pendingTotp(cx, userId) === undefined) return redirectTo(destinationAfterSignIn(loginContext))
  const admit = () => prepareTotpVerification(cx, userId, code)
  const result = await attemptFactor(loginContext, {
    userId,
    kind: "totp",
    admit,
    done: "factor_setup",
  })
  if (result.kind === "in") return result.answer
  return setupState.next(loginContext, { way: "otp", problem: result })
}

/** The account name that the authenticator app shows. */
const labelOf = ({ cx, browserContext }: LoginContext, userId: string) => ({
  issuer: cx.store.state(cx, instance, cx.instance).name || new URL(browserContext.issuer).hostname,
  label: accountOf(cx, userId).loginName,
})

type TotpPageOptions = {
  readonly userId: string
  readonly secret: string
  readonly problem: Problem | undefined
}

async function totpPage(
  loginContext: LoginContext,
  { userId, secret, problem }: TotpPageOptions,
): Promise<Response> {
  const uri = await totpUri(secret, labelOf(loginContext, userId))
  const backHref = hrefOf(loginContext, loginPaths.factorSetup)
  const page = { ...sharedPropsOf(loginContext, userId), uri, secret, backHref }
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
  { userId, way: kind }: SetupOptions & { readonly way: "passkey" | "u2f" },
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const tokenId = fields.get("tokenId")
  const given = fields.get("credential")
  const result =
    given === ""
      ? undefined
      : await attemptKeyRegistration(loginContext, { userId, kind, tokenId, given })
  if (result?.kind === "in") return result.answer
  const registration = await beginKey(cx, userId, { kind })
  return setupState.next(loginContext, {
    way: kind,
    tokenId: registration.tokenId,
    options: JSON.stringify(registration.options),
    isWrong: result !== undefined,
  })
}

function keyPage(
  loginContext: LoginContext,
  userId: string,
  { way: kind, tokenId, options, isWrong }: KeySetup & { readonly way: "passkey" | "u2f" },
): Promise<Response> {
  const page = {
    ...sharedPropsOf(loginContext, userId),
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
  get: showSetup,
  post: postSetup,
}
