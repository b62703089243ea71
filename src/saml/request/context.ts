import { attributeOf, childOf, childrenOf, type Element, textOf } from "../../kernel/saml/read.ts"
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

/**
 * SAML Core §3.3.2.2.1: the classes that will do, weakest first. Undefined where any will; empty
 * where none of ours does.
 */
export function wantedContexts(request: Element): readonly string[] | undefined {
  const asked = childOf(request, ["samlp", "RequestedAuthnContext"], reading)
  if (!asked) return undefined
  const named = childrenOf(asked, "saml", "AuthnContextClassRef").map((each) =>
    textOf(each, reading),
  )
  const ranks = named.map((name) => known.indexOf(name)).filter((at) => at >= 0)
  const comparison = attributeOf(asked, "Comparison") ?? "exact"
  const fits = comparisons.get(comparison)
  return ranks.length === 0 || !fits ? [] : known.filter((_, at) => fits(at, ranks))
}

/** A map, because every object has other names of its own, such as `valueOf`. */
const comparisons = new Map<string, (at: number, ranks: readonly number[]) => boolean>([
  ["exact", (at, ranks) => ranks.includes(at)],
  ["minimum", (at, ranks) => at >= Math.min(...ranks)],
  ["better", (at, ranks) => at > Math.max(...ranks)],
  ["maximum", (at, ranks) => at <= Math.max(...ranks)],
])
