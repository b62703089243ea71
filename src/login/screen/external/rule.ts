import type { Options } from "../../../domain/idp/index.ts"

/** A person here who may be the one that came from a provider. */
export type Candidate = {
  readonly userId: string
  readonly by: "email" | "username"
  /** Whether they have shown here that they read what goes to the address. */
  readonly emailVerified: boolean
  /** Whether they may do more than use what is theirs; they are linked by their own proof alone. */
  readonly isAdministrator: boolean
}

/** All that the rule goes by. */
export type Facts = {
  readonly options: Options
  readonly identity: {
    readonly email: string
    /** Whether the provider says that the person reads what goes there. */
    readonly emailVerified: boolean
    /**
     * Whether the provider's word for an address is enough to link an account: an organization's
     * own provider among its people, and a provider of the instance that is trusted for addresses.
     */
    readonly isEmailTrusted: boolean
    /** Whether it says all that an account needs. */
    readonly isComplete: boolean
  }
  /** Whose account is linked; undefined where it is nobody's. */
  readonly linkedUser?: string | undefined
  readonly candidates: readonly Candidate[]
}

/** What comes of a sign-in with a provider. */
export type Verdict =
  | { readonly kind: "sign in"; readonly userId: string }
  /** Nobody is asked: both sides have verified the address, and the provider is trusted for it. */
  | { readonly kind: "link"; readonly userId: string }
  | { readonly kind: "create" }
  | { readonly kind: "ask"; readonly mayLink: boolean; readonly mayCreate: boolean }
  | { readonly kind: "refuse" }
  /** Their organisation lets nobody in by this provider. */
  | { readonly kind: "barred" }

/**
 * The one rule that decides whose account somebody gets who comes from a provider. An account that
 * is there already is theirs without its owner's proof only where both sides have verified the
 * same address, nobody else has it, and the provider is set up for that and trusted with addresses.
 * A login name proves nothing: it only makes the page ask.
 */
export function verdictOn({ options, identity, linkedUser, candidates }: Facts): Verdict {
  if (linkedUser !== undefined) return { kind: "sign in", userId: linkedUser }
  const { isLinkingAllowed: mayLink, isCreationAllowed: mayCreate } = options
  const auto = mayLink && options.autoLinking === "email" ? sameAddress(identity, candidates) : []
  const [only, ...others] = auto
  if (only && others.length === 0 && !only.isAdministrator) {
    return { kind: "link", userId: only.userId }
  }
  const isFree = candidates.length === 0
  if (mayCreate && options.isAutoCreation && identity.isComplete && isFree) {
    return { kind: "create" }
  }
  return mayLink || mayCreate ? { kind: "ask", mayLink, mayCreate } : { kind: "refuse" }
}

/** Who has the address that the provider vouches for, and has verified it here. */
function sameAddress(
  { email, emailVerified, isEmailTrusted }: Facts["identity"],
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (email === "" || !emailVerified || !isEmailTrusted) return []
  const same = candidates.filter(({ by }) => by === "email")
  // Somebody who has not verified it may still be who it belongs to: then nobody is linked unasked.
  return same.every((each) => each.emailVerified) ? same : []
}
