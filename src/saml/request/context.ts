import { attributeOf, childOf, childrenOf, type Element, textOf } from "../../xml/read.ts"
import { reading } from "../error.ts"

const classes = "urn:oasis:names:tc:SAML:2.0:ac:classes:"

/** The one that needs more than a password (REFEDS MFA Profile). */
export const mfaContext = "https://refeds.org/profile/mfa"

/** What a sign-in may have been, weakest first (SAML Authentication Context §3.4). */
const known: readonly string[] = [
  `${classes}unspecified`,
  `${classes}Password`,
  `${classes}PasswordProtectedTransport`,
  mfaContext,
]

/** Those that ask for no more than a password. */
const ordinary: readonly string[] = known.slice(0, 3)

/** How somebody signed in: RFC 8176 names, and whether nobody could listen. */
export type Proved = { readonly methods: readonly string[]; readonly secure: boolean }

/** All that a sign-in truly was, weakest first. */
function contextsOf({ methods, secure }: Proved): readonly string[] {
  const hasPassword = methods.includes("pwd")
  const isTrue: readonly boolean[] = [
    true,
    hasPassword,
    hasPassword && secure,
    methods.includes("mfa"),
  ]
  return known.filter((_, at) => isTrue[at])
}

/** The best that is true of a sign-in, of those that are wanted; undefined where none is. */
export const contextOf = (
  wanted: readonly string[] | undefined,
  proved: Proved,
): string | undefined => contextsOf(proved).findLast((each) => wanted?.includes(each) ?? true)

/** Whether nothing but a sign-in with a password fits. */
export const needsPassword = (wanted: readonly string[]): boolean =>
  wanted.every((each) => each !== mfaContext && each !== ordinary[0])

/** Why a sign-in is none of the wanted contexts, for the administrator of the other side. */
export function mismatchOf(wanted: readonly string[], { methods, secure }: Proved): string {
  const [, password = "", protectedPassword = "", mfa = ""] = known
  const causes = [
    wanted.includes(mfa) && !methods.includes("mfa") && "without a second factor",
    wanted.some((each) => each === password || each === protectedPassword) &&
      !methods.includes("pwd") &&
      "without a password (by a passkey, a link or an identity provider)",
    wanted.includes(protectedPassword) && methods.includes("pwd") && !secure && "over plain HTTP",
  ].filter((cause) => cause !== false)
  return `the user signed in ${causes.join(" and ")}; the request accepts only ${wanted.join(", ")}`
}

export type RequestedContexts = {
  /** The classes that will do, weakest first; empty where none of ours does. */
  readonly contexts: readonly string[]
  /** Whether all that are named ask for no more than a password; see `SamlConfig`. */
  readonly isOrdinary: boolean
  /** What was asked for, as text. */
  readonly named: string
}

/** SAML Core §3.3.2.2.1: what a request wants of the sign-in; undefined where any will do. */
export function wantedContexts(request: Element): RequestedContexts | undefined {
  const asked = childOf(request, ["samlp", "RequestedAuthnContext"], reading)
  if (!asked) return undefined
  const names = childrenOf(asked, "saml", "AuthnContextClassRef").map((each) =>
    textOf(each, reading),
  )
  const ranks = names.map((name) => known.indexOf(name)).filter((at) => at >= 0)
  const comparison = attributeOf(asked, "Comparison") ?? "exact"
  const fits = comparisons.get(comparison)
  return {
    contexts: ranks.length === 0 || !fits ? [] : known.filter((_, at) => fits(at, ranks)),
    isOrdinary: comparison !== "better" && names.every((name) => ordinary.includes(name)),
    named: `${comparison} ${names.join(", ")}`.slice(0, namedMax),
  }
}

/** Characters: it is repeated to the sender. */
const namedMax = 300

/** A map, because every object has other names of its own, such as `valueOf`. */
const comparisons = new Map<string, (at: number, ranks: readonly number[]) => boolean>([
  ["exact", (at, ranks) => ranks.includes(at)],
  ["minimum", (at, ranks) => at >= Math.min(...ranks)],
  ["better", (at, ranks) => at > Math.max(...ranks)],
  ["maximum", (at, ranks) => at <= Math.max(...ranks)],
])
