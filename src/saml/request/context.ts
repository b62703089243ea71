import { childrenOf, type Element, findAttribute, findChild, requireText } from "../../xml/read.ts"
import { readingOptions } from "../error.ts"

const classes = "urn:oasis:names:tc:SAML:2.0:ac:classes:"

/** The class that requires more than a password (REFEDS MFA Profile). */
export const mfaContext = "https://refeds.org/profile/mfa"

/** Supported classes, weakest first (SAML Authentication Context §3.4). */
const supportedClasses: readonly string[] = [
  `${classes}unspecified`,
  `${classes}Password`,
  `${classes}PasswordProtectedTransport`,
  mfaContext,
]

/** Classes that require no more than a password. */
const passwordClasses: readonly string[] = supportedClasses.slice(0, 3)

/** How a user signed in: RFC 8176 names, and whether over https. */
export type ProvedSignIn = { readonly methods: readonly string[]; readonly secure: boolean }

/** All classes that a sign-in satisfies, weakest first. */
function satisfiedClasses({ methods, secure }: ProvedSignIn): readonly string[] {
  const hasPassword = methods.includes("pwd")
  const isTrue: readonly boolean[] = [
    true,
    hasPassword,
    hasPassword && secure,
    methods.includes("mfa"),
  ]
  return supportedClasses.filter((_, at) => isTrue[at])
}

/** The best requested class that a sign-in satisfies; undefined if there is none. */
export const selectClass = (
  requested: readonly string[] | undefined,
  proved: ProvedSignIn,
): string | undefined =>
  satisfiedClasses(proved).findLast((each) => requested?.includes(each) ?? true)

/** Whether only a sign-in with a password is accepted. */
export const requiresPassword = (requested: readonly string[]): boolean =>
  requested.every((each) => each !== mfaContext && each !== passwordClasses[0])

/**
 * Why a sign-in satisfies none of the requested classes, for the administrator of the service
 * provider.
 */
export function describeMismatch(
  requested: readonly string[],
  { methods, secure }: ProvedSignIn,
): string {
  const [, password = "", protectedPassword = "", mfa = ""] = supportedClasses
  const causes = [
    requested.includes(mfa) && !methods.includes("mfa") && "without a second factor",
    requested.some((each) => each === password || each === protectedPassword) &&
      !methods.includes("pwd") &&
      "without a password (by a passkey, a link or an identity provider)",
    requested.includes(protectedPassword) &&
      methods.includes("pwd") &&
      !secure &&
      "over plain HTTP",
  ].filter((cause) => cause !== false)
  return (
    `the user signed in ${causes.join(" and ")}; the request accepts only ` +
    `${requested.join(", ")}`
  )
}

export type RequestedContexts = {
  /** Accepted classes, weakest first; empty if none is supported. */
  readonly contexts: readonly string[]
  /** Whether all requested classes require no more than a password; see `SamlConfig`. */
  readonly isPasswordOnly: boolean
  /** The requested classes as text. */
  readonly text: string
}

/** SAML Core §3.3.2.2.1: the requested classes; undefined if any is accepted. */
export function parseRequestedContexts(request: Element): RequestedContexts | undefined {
  const requestedContext = findChild(request, ["samlp", "RequestedAuthnContext"], readingOptions)
  if (!requestedContext) return undefined
  const names = childrenOf(requestedContext, "saml", "AuthnContextClassRef").map((each) =>
    requireText(each, readingOptions),
  )
  const ranks = names.map((name) => supportedClasses.indexOf(name)).filter((at) => at >= 0)
  const comparison = findAttribute(requestedContext, "Comparison") ?? "exact"
  const isAccepted = comparisons.get(comparison)
  return {
    contexts:
      ranks.length === 0 || !isAccepted
        ? []
        : supportedClasses.filter((_, at) => isAccepted(at, ranks)),
    isPasswordOnly:
      comparison !== "better" && names.every((name) => passwordClasses.includes(name)),
    text: `${comparison} ${names.join(", ")}`.slice(0, requestedTextMax),
  }
}

/** In characters: the text is returned to the sender. */
const requestedTextMax = 300

/** A Map, because a plain object has inherited names such as `valueOf`. */
const comparisons = new Map<string, (at: number, ranks: readonly number[]) => boolean>([
  ["exact", (at, ranks) => ranks.includes(at)],
  ["minimum", (at, ranks) => at >= Math.min(...ranks)],
  ["better", (at, ranks) => at > Math.max(...ranks)],
  ["maximum", (at, ranks) => at <= Math.max(...ranks)],
])
