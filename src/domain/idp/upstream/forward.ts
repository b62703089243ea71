import type { Options, Settings } from "../model.ts"

/** What an application's request requires of a sign-in, as it is forwarded to a provider. */
export type RequestedSignIn = {
  /** OpenID Connect Core §3.1.2.1, prompt=login; ForceAuthn of SAML. */
  readonly mustSignIn?: boolean
  readonly maxAgeSeconds?: number | undefined
  readonly loginHint?: string
  /** As the application sent them, best first. */
  readonly acrValues?: readonly string[] | undefined
}

type Forwarded = "prompt" | "max_age" | "login_hint" | "acr_values"

const all: readonly Forwarded[] = ["prompt", "max_age", "login_hint", "acr_values"]

/**
 * The parameters that providers document. Google rejects prompt=login; those without an entry
 * document none, and are not sent any.
 */
const forwardedTo: Readonly<Partial<Record<Settings["kind"], readonly Forwarded[]>>> = {
  oidc: all,
  gitlab: all,
  gitlab_self_hosted: all,
  google: ["max_age", "login_hint"],
  azure: ["prompt", "login_hint"],
}

/**
 * OpenID Connect Core §3.1.2.1: max_age=0 means the same as prompt=login. A provider that isn't
 * sent a max_age has to sign the user in again for any.
 */
const asksToSignIn = (
  { mustSignIn = false, maxAgeSeconds }: RequestedSignIn,
  known: readonly Forwarded[],
): boolean =>
  mustSignIn || maxAgeSeconds === 0 || (maxAgeSeconds !== undefined && !known.includes("max_age"))

/**
 * The max_age that goes with prompt=login. Many providers return auth_time only with a max_age,
 * as OpenID Connect Core §2 requires. It is not 0, which sends people in circles at some of them.
 */
const statedWithinSeconds = 300

function maxAgeSent(
  { maxAgeSeconds }: RequestedSignIn,
  how: { readonly mustSignIn: boolean; readonly known: readonly Forwarded[] },
): number | undefined {
  const isSaidByPrompt = maxAgeSeconds === 0 && how.known.includes("prompt")
  if (maxAgeSeconds !== undefined && !isSaidByPrompt) return maxAgeSeconds
  return how.mustSignIn ? statedWithinSeconds : undefined
}

/** The parameters of an authorization request that carry on what an application requires. */
export function forwardedParameters(
  { settings, options }: { readonly settings: Settings; readonly options: Options },
  requested: RequestedSignIn,
): Readonly<Record<string, string>> {
  const { loginHint = "", acrValues = [] } = requested
  const known = forwardedTo[settings.kind] ?? []
  const mustSignIn = asksToSignIn(requested, known)
  const maxAgeSeconds = maxAgeSent(requested, { mustSignIn, known })
  const values: Readonly<Record<Forwarded, string>> = {
    prompt: mustSignIn ? "login" : "",
    max_age: maxAgeSeconds === undefined ? "" : String(maxAgeSeconds),
    login_hint: loginHint,
    acr_values: options.forwardAcrValues ? acrValues.join(" ") : "",
  }
  return Object.fromEntries(
    known.flatMap((name) => (values[name] === "" ? [] : [[name, values[name]]])),
  )
}

/**
 * SAML Core §3.4.1: whether the provider has to sign the user in again. SAML has no maximum age, so
 * that any that an application requires asks for this.
 */
export const mustForceAuthn = ({ mustSignIn = false, maxAgeSeconds }: RequestedSignIn): boolean =>
  mustSignIn || maxAgeSeconds !== undefined
