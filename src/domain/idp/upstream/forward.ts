import type { Options, Settings } from "../model.ts"

/** Requirements of an application's request that are forwarded to a provider. */
export type RequestedSignIn = {
  /** OpenID Connect Core §3.1.2.1, prompt=login; ForceAuthn in SAML. */
  readonly mustSignIn?: boolean
  readonly maxAgeSeconds?: number | undefined
  readonly loginHint?: string
  /** As the application sent them, in order of preference. */
  readonly acrValues?: readonly string[] | undefined
}

type ForwardedParameter = "prompt" | "max_age" | "login_hint" | "acr_values"

const allParameters: readonly ForwardedParameter[] = [
  "prompt",
  "max_age",
  "login_hint",
  "acr_values",
]

/**
 * The parameters that each provider documents. Google rejects prompt=login; kinds without an entry
 * support none.
 */
const forwardedTo: Readonly<Partial<Record<Settings["kind"], readonly ForwardedParameter[]>>> = {
  oidc: allParameters,
  gitlab: allParameters,
  gitlab_self_hosted: allParameters,
  google: ["max_age", "login_hint"],
  azure: ["prompt", "login_hint"],
}

/**
 * OpenID Connect Core §3.1.2.1: max_age=0 is equivalent to prompt=login. A provider that doesn't
 * support max_age must always reauthenticate.
 */
const requiresPromptLogin = (
  { mustSignIn = false, maxAgeSeconds }: RequestedSignIn,
  supported: readonly ForwardedParameter[],
): boolean =>
  mustSignIn ||
  maxAgeSeconds === 0 ||
  (maxAgeSeconds !== undefined && !supported.includes("max_age"))

/**
 * The max_age sent with prompt=login. Many providers return auth_time only with a max_age, as
 * OpenID Connect Core §2 requires. Not 0, which causes redirect loops at some providers.
 */
const maxAgeForAuthTime = 300

function maxAgeToSend(
  { maxAgeSeconds }: RequestedSignIn,
  maxAgeOptions: { readonly mustSignIn: boolean; readonly known: readonly ForwardedParameter[] },
): number | undefined {
  const isSaidByPrompt = maxAgeSeconds === 0 && maxAgeOptions.known.includes("prompt")
  if (maxAgeSeconds !== undefined && !isSaidByPrompt) return maxAgeSeconds
  return maxAgeOptions.mustSignIn ? maxAgeForAuthTime : undefined
}

/** Authorization request parameters that forward the application's requirements. */
export function forwardedParameters(
  { settings, options }: { readonly settings: Settings; readonly options: Options },
  requested: RequestedSignIn,
): Readonly<Record<string, string>> {
  const { loginHint = "", acrValues = [] } = requested
  const supported = forwardedTo[settings.kind] ?? []
  const mustSignIn = requiresPromptLogin(requested, supported)
  const maxAgeSeconds = maxAgeToSend(requested, { mustSignIn, known: supported })
  const values: Readonly<Record<ForwardedParameter, string>> = {
    prompt: mustSignIn ? "login" : "",
    max_age: maxAgeSeconds === undefined ? "" : String(maxAgeSeconds),
    login_hint: loginHint,
    acr_values: options.forwardAcrValues ? acrValues.join(" ") : "",
  }
  return Object.fromEntries(
    supported.flatMap((name) => (values[name] === "" ? [] : [[name, values[name]]])),
  )
}

/**
 * SAML Core §3.4.1: whether the provider must reauthenticate the user. SAML has no maximum age, so
 * any max_age requires it.
 */
export const requiresForceAuthn = ({
  mustSignIn = false,
  maxAgeSeconds,
}: RequestedSignIn): boolean => mustSignIn || maxAgeSeconds !== undefined
